import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { connectLegacy, connectModern, type ToolClient } from '../../bench/mcp-clients.ts';
import { eventually, isAlive, runUp, type UpProcess } from '../cli/run-up.ts';

let stateDir = '';
let current: UpProcess | null = null;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fermata-approvals-'));
});
afterEach(async () => {
  current?.signal('SIGTERM');
  await current?.ended;
  await rm(stateDir, { recursive: true, force: true });
});

const callSchema = z.looseObject({ phase: z.string(), tool: z.string(), arguments: z.unknown() });

/** Arguments of the deletions that were begun, in order. */
async function deletions(): Promise<unknown[]> {
  const text = await readFile(join(stateDir, 'tool-calls.jsonl'), 'utf8').catch(() => '');
  const calls = text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => callSchema.parse(JSON.parse(line)));
  return calls
    .filter(({ phase, tool }) => phase === 'started' && tool === 'delete_page')
    .map((call) => call.arguments);
}

const runSchema = z.looseObject({
  status: z.string(),
  pendingApprovals: z
    .array(z.object({ id: z.string(), tool: z.string(), arguments: z.string() }))
    .default([]),
});

async function standing(client: ToolClient, handle: string): Promise<z.infer<typeof runSchema>> {
  return runSchema.parse(await client.call('status', { handle }));
}

function task(page: string, answer: string): string {
  const calls = [{ tool: 'delete_page', arguments: { page } }];
  return `Tidy up. [[sim ${JSON.stringify({ calls, answer })}]]`;
}

it('an approval left open across kill -9 of everything is still listed, and answered once by two clients at the same time', async () => {
  const start = (): UpProcess => runUp({ stateDir, temporalBinary: inject('temporalBinary') });
  const first = start();
  current = first;
  const ready = await first.ready;
  const before = await connectModern(ready.mcpUrl);
  const pages = ['attic', 'cellar', 'garage'];
  const handles: string[] = [];
  for (const page of pages) {
    const { handle } = await before.call('spawn', { task: task(page, `done with ${page}`) });
    handles.push(String(handle));
  }
  const told = await before.call('await', { handles, timeoutSeconds: 60 });
  expect(told).toMatchObject({
    done: false,
    hint: expect.stringContaining('3 tool calls of 3 runs wait for approval'),
  });
  const open = await Promise.all(handles.map(async (handle) => await standing(before, handle)));
  for (const pid of [first.pid, ...Object.values(ready.pids)]) process.kill(pid, 'SIGKILL');
  await first.ended;
  await eventually('all processes gone', () => !Object.values(ready.pids).some(isAlive));
  expect(await deletions()).toEqual([]);

  current = start();
  const again = await current.ready;
  const clients = [await connectModern(again.mcpUrl), await connectLegacy(again.mcpUrl)] as const;
  const listed = await Promise.all(handles.map(async (handle) => await standing(clients[1], handle)));
  expect(listed.map(({ status, pendingApprovals }) => ({ status, pendingApprovals }))).toEqual(
    open.map(({ pendingApprovals }) => ({ status: 'AwaitingApproval', pendingApprovals })),
  );
  // Each client sees every run: the runs are of an open stack, and a handle is all it takes.
  for (const [index, handle] of handles.entries()) {
    const approvalId = listed[index]?.pendingApprovals[0]?.id;
    const answers = await Promise.all(
      clients.map(
        async (client, position) =>
          await client.call('approve', { handle, approvalId, allow: (position + index) % 2 === 0 }),
      ),
    );
    const outcomes = answers.map((answer) => String(answer['outcome'])).toSorted();
    expect(outcomes).toEqual(['accepted', 'already decided']);
    const [one, other] = answers;
    expect(one?.['allow']).toBe(other?.['allow']);
    expect(one?.['by']).toBe(other?.['by']);
  }
  const allowed = await Promise.all(
    handles.map(async (handle) => await clients[0].call('approve', { handle, allow: true })),
  );
  const awaited = await clients[0].call('await', { handles, timeoutSeconds: 90 });
  expect(awaited['done']).toBe(true);
  const runs = awaited['runs'] as Record<string, unknown>[];
  for (const [index, run] of runs.entries()) {
    expect(run).toMatchObject({
      status: 'Completed',
      result: `done with ${pages[index]}`,
      toolCalls: 1,
      failedToolCalls: allowed[index]?.['allow'] === true ? 0 : 1,
    });
  }
  const expected = pages.filter((_, index) => allowed[index]?.['allow'] === true).map((page) => ({ page }));
  const ran = await deletions();
  expect(ran).toHaveLength(expected.length);
  expect(ran).toEqual(expect.arrayContaining(expected));
  for (const client of clients) await client.close();
}, 300_000);
