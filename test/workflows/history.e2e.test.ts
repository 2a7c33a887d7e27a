import { readFileSync } from 'node:fs';
import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startRunStack, type RunStack } from './run-stack.ts';

let stack: RunStack;
const marker = 'zebra-in-a-result';

beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => {
      const { messages, tools } = request.body;
      if (tools === undefined) request.say('done');
      else
        request.call([
          { name: 'kit__add_note', arguments: { text: `${marker} ${messages.length} ${'n'.repeat(2_000)}` } },
        ]);
    },
  });
});
afterAll(async () => await stack?.close());

async function finishedRun(maxToolCalls: number): Promise<WorkflowHandle> {
  const handle = await stack.start({ task: 'Take notes.\nMany.', maxToolCalls });
  expect(await handle.result()).toMatchObject({ text: 'done', counters: { toolCalls: maxToolCalls } });
  return handle;
}

const textOf = (payloads: { data?: Uint8Array | null }[] | null | undefined): string =>
  (payloads ?? []).map((payload) => Buffer.from(payload.data ?? []).toString('utf8')).join('\n');

describe('the history of a run', () => {
  it('shows each turn and each call as an activity, named, and no transcript in any input', async () => {
    const { events } = await (await finishedRun(3)).fetchHistory();
    const scheduled = (events ?? []).flatMap((event) => {
      const attributes = event.activityTaskScheduledEventAttributes;
      if (attributes === null || attributes === undefined) return [];
      const summary = Buffer.from(event.userMetadata?.summary?.data ?? []).toString('utf8');
      return [{ type: attributes.activityType?.name, input: textOf(attributes.input?.payloads), summary }];
    });
    expect(scheduled.map(({ type }) => type)).toEqual([
      ...Array.from({ length: 3 }, () => ['modelTurn', 'callTool']).flat(),
      'modelTurn',
    ]);
    const turns = scheduled.filter(({ type }) => type === 'modelTurn');
    for (const { input } of turns) {
      expect(input).not.toContain(marker);
      expect(input).not.toContain('Take notes');
      expect(input.length).toBeLessThan(500);
    }
    expect(turns[1]?.summary).toBe('"turn 2: fake"');
    expect(scheduled.find(({ type }) => type === 'callTool')?.summary).toBe('"kit__add_note"');
  });

  it('grows in proportion to the number of turns', async () => {
    const sizeOf = async (calls: number): Promise<number> => {
      const { historySize } = await (await finishedRun(calls)).describe();
      return Number(historySize);
    };
    const [eight, sixteen, thirtyTwo] = [await sizeOf(8), await sizeOf(16), await sizeOf(32)];
    expect((thirtyTwo - sixteen) / (sixteen - eight)).toBeLessThan(2.3);
    expect((thirtyTwo - sixteen) / 16).toBeLessThan(16_000);
  });

  it('replays to the same commands', async () => {
    const handle = await finishedRun(2);
    const history = await handle.fetchHistory();
    const codePath = inject('workflowBundlePath');
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath } }, history, handle.workflowId),
    ).resolves.toBeUndefined();
  });
});

describe('the workflow bundle', () => {
  it('has no schema library in it: the sandbox would load it anew for each run', () => {
    expect(readFileSync(inject('workflowBundlePath'), 'utf8')).not.toContain('node_modules/zod');
  });
});

describe('a run in Temporal', () => {
  it('is found by its type, status and class, and tells its state in words', async () => {
    const handle = await finishedRun(1);
    const description = await handle.describe();
    expect([description.type, description.status.name]).toEqual(['agent-run', 'COMPLETED']);
    expect(
      description.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
    ).toContainEqual(['FermataStatus', 'Completed']);
    const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toContain('**Completed**: ended');
    expect(metadata.currentDetails).toContain('1 of 1 tool calls');
  });

  it('lists its tools by a workflow of its own', async () => {
    const listing = await stack.client.workflow.execute('list-tools', {
      taskQueue: stack.taskQueue,
      workflowId: `tools-${stack.taskQueue}`,
      args: [],
    });
    expect(listing).toMatchObject({ warnings: [] });
    expect(JSON.stringify(listing)).toContain('"kit__lookup"');
  });
});
