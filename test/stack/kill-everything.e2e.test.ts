import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { connectModern } from '../../bench/mcp-clients.ts';
import { eventually, isAlive, runUp, type UpProcess } from '../cli/run-up.ts';

let stateDir = '';
let current: UpProcess | null = null;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fermata-kill-'));
});
afterEach(async () => {
  current?.signal('SIGTERM');
  await current?.ended;
  await rm(stateDir, { recursive: true, force: true });
});

const callSchema = z.looseObject({ phase: z.string(), tool: z.string(), idempotencyKey: z.string() });

async function readCalls(): Promise<z.infer<typeof callSchema>[]> {
  const text = await readFile(join(stateDir, 'tool-calls.jsonl'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => callSchema.parse(JSON.parse(line)));
}

it('kill -9 of everything, Temporal included, in the middle of 16 runs loses no run and doubles no tool call', async () => {
  const start = (): UpProcess => runUp({ stateDir, temporalBinary: inject('temporalBinary') });
  const first = start();
  current = first;
  const ready = await first.ready;
  const client = await connectModern(ready.mcpUrl);
  // `wait` is neither read-only nor idempotent: a call to it must never be made a second time.
  const directive = '[[sim {"calls":["wait","wait","wait"],"toolArguments":{"wait":{"milliseconds":700}}}]]';
  const handles = await Promise.all(
    Array.from({ length: 16 }, async (_, index) => {
      const answer = await client.call('spawn', { task: `Wait for river ${index}. ${directive}` });
      return String(answer['handle']);
    }),
  );
  await eventually('20 calls started and 8 finished', async () => {
    const calls = await readCalls();
    return phase(calls, 'started').length >= 20 && phase(calls, 'finished').length >= 8;
  });
  for (const pid of [first.pid, ...Object.values(ready.pids)]) process.kill(pid, 'SIGKILL');
  await first.ended;
  await eventually('all processes gone', () => !Object.values(ready.pids).some(isAlive));
  const before = phase(await readCalls(), 'started');
  expect(before.length).toBeLessThan(48);

  current = start();
  const again = await connectModern((await current.ready).mcpUrl);
  const awaited = await again.call('await', { handles, timeoutSeconds: 90 });
  await again.close();

  const runs = awaited['runs'] as { handle: string; status: string; result: string; toolCalls: number }[];
  expect(runs.map((run) => run.handle)).toEqual(handles);
  expect(runs.map((run) => run.status)).toEqual(Array.from({ length: 16 }, () => 'Completed'));
  expect(runs.every((run) => run.result !== '' && run.toolCalls === 3)).toBe(true);
  const keys = phase(await readCalls(), 'started');
  expect(keys.length).toBeGreaterThan(before.length);
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
});

function phase(calls: readonly z.infer<typeof callSchema>[], wanted: string): string[] {
  return calls.filter((call) => call.phase === wanted).map((call) => call.idempotencyKey);
}
