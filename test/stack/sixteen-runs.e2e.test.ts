import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectLegacy, type ToolClient } from '../../bench/mcp-clients.ts';
import { startTestStack, type TestStack } from './start-test-stack.ts';

describe('16 sub-agents, spawned by a client of each era', () => {
  let stack: TestStack;
  let legacy: ToolClient;
  let temporal: Client;
  let connection: Connection;
  let handles: string[] = [];
  let runs: Record<string, unknown>[] = [];

  beforeAll(async () => {
    stack = await startTestStack();
    legacy = await connectLegacy(stack.mcpUrl);
    connection = await Connection.connect({ address: inject('temporalAddress') });
    temporal = new Client({ connection });
    const spawned = await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const client = index % 2 === 0 ? stack.client : legacy;
        return await client.call('spawn', {
          task: `Where does river ${index} end? ${marker(index)} ${directive}`,
        });
      }),
    );
    handles = spawned.map((answer) => String(answer['handle']));
    const awaited = await stack.client.call('await', { handles, timeoutSeconds: 90 });
    runs = awaited['runs'] as Record<string, unknown>[];
  });
  afterAll(async () => {
    await legacy.close();
    await connection.close();
    await stack.close();
  });

  it('all complete, each with a result of its own and a tool used', () => {
    expect(new Set(handles).size).toBe(16);
    expect(runs.map((run) => run['handle'])).toEqual(handles);
    for (const run of runs) {
      expect(run).toMatchObject({ status: 'Completed' });
      expect(run['toolCalls']).toBeGreaterThan(0);
      expect(String(run['result']).length).toBeGreaterThan(0);
    }
  });

  it('are 16 agent-run workflows whose histories hold each turn and tool call as an activity', async () => {
    for (const [index, handle] of handles.entries()) {
      const workflow = temporal.workflow.getHandle(handle);
      expect((await workflow.describe()).type).toBe('agent-run');
      const events = (await workflow.fetchHistory()).events ?? [];
      const activities = events.flatMap(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
      );
      const counters = runs[index] as { toolCalls: number; usage: { turns: number } };
      expect(activities.filter((name) => name === 'modelTurn')).toHaveLength(counters.usage.turns);
      expect(activities.filter((name) => name === 'callTool')).toHaveLength(counters.toolCalls);
    }
  });

  it('have no transcript in any activity input', async () => {
    for (const [index, handle] of handles.entries()) {
      const events = (await temporal.workflow.getHandle(handle).fetchHistory()).events ?? [];
      const inputs = events.flatMap(
        (event) => event.activityTaskScheduledEventAttributes?.input?.payloads ?? [],
      );
      const texts = inputs.map((payload) => Buffer.from(payload.data ?? []).toString('utf8'));
      expect(texts.length).toBeGreaterThan(0);
      expect(texts.filter((text) => text.includes(marker(index)))).toEqual([]);
      // The task, as a check that the marker would be seen where it stands.
      const start = events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
      expect(Buffer.from(start ?? []).toString('utf8')).toContain(marker(index));
    }
  });
});

/** Arguments of their own: those the script makes up would quote the task. */
const directive = '[[sim {"calls":["lookup","lookup"],"toolArguments":{"lookup":{"topic":"rivers"}}}]]';

function marker(index: number): string {
  return `needle-${index}-in-the-transcript`;
}
