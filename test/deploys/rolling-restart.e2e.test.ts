/** Workers replaced one by one under load, each in a process of its own with tool servers of its own. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { ToolServerConfig } from '../../contracts/config-file.ts';
import { transcriptQuery } from '../../contracts/run.ts';
import type { CallLine } from '../../testkit/tool-server/call-log.ts';
import type { FakeCall, FakeRequest } from '../activities/fake-model.ts';
import { startRunStack, type RunStack } from '../workflows/run-stack.ts';
import { startWorkerProcess, type WorkerProcess } from '../workflows/worker-process.ts';

const runCount = 12;
const rolls = 3;
const root = resolve(import.meta.dirname, '..', '..');

/** Starting four workers with their tool servers takes its time on a busy machine. */
const timeoutMs = 300_000;

let folder: string;
let stack: RunStack;
const workers: WorkerProcess[] = [];
const path = (name: string): string => join(folder, name);

/** A tool server of the worker's own, behind a shell and beside a process that nobody would miss. */
function localServer(): ToolServerConfig {
  const serve = `exec "${process.execPath}" --import tsx "${join(root, 'testkit', 'tool-server', 'stdio-main.ts')}"`;
  const script = [
    `sleep 600 & echo "$$ $!" >> "${path('pids')}"`,
    `${serve} --call-log "${path('calls')}" --delay-scale 0.5`,
  ].join('\n');
  return {
    command: 'sh',
    args: ['-c', script],
    env: {},
    idleTimeoutMs: 60_000,
    totalTimeoutMs: 600_000,
  };
}

/** The calls of a run, turn by turn and again from the first; what must not be repeated at both tool servers, and what may be. */
const rounds: readonly (readonly FakeCall[])[] = [
  [{ name: 'kit__add_note', arguments: { text: 'one' } }],
  [
    { name: 'own__add_note', arguments: { text: 'two' } },
    { name: 'kit__wait', arguments: { milliseconds: 400 } },
    { name: 'kit__lookup', arguments: { topic: 'tides' } },
  ],
  [{ name: 'own__wait', arguments: { milliseconds: 300 } }],
  [
    { name: 'kit__wait', arguments: { milliseconds: 200 } },
    { name: 'own__lookup', arguments: { topic: 'tides' } },
  ],
];

interface Attempt {
  readonly turn: string;
  left: boolean;
}
const attempts: Attempt[] = [];
/** Once the last restart is over, the runs may end. */
let restarting = true;
/** Turns that were asked for anew while an attempt was still listened to. */
const overlapping: string[] = [];

function answer(request: FakeRequest): void {
  const turn = `${String(request.headers['x-fermata-run-id'])} ${String(request.headers['x-fermata-turn'])}`;
  if (attempts.some((before) => before.turn === turn && !before.left)) overlapping.push(turn);
  const attempt: Attempt = { turn, left: false };
  attempts.push(attempt);
  void request.clientLeft.then(() => (attempt.left = true));
  const calls = rounds[(Number(request.headers['x-fermata-turn']) - 1) % rounds.length] ?? [];
  // A model takes its time, so that every restart meets turns in flight.
  setTimeout(() => {
    if (attempt.left) return;
    if (restarting) request.call(calls);
    else request.say('all done');
  }, 250);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-rolling-'));
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: answer,
    toolServers: { own: localServer() },
    startWorker: false,
  });
});
afterAll(async () => {
  await Promise.all(workers.map(async (worker) => await worker.kill()));
  await stack?.close();
  await rm(folder, { recursive: true, force: true });
});

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess(stack.workerConfig);
  workers.push(worker);
  return worker;
}

/** Lines of both call logs: starts by idempotency key. */
function startsByKey(): ReadonlyMap<string, { readonly tool: string; readonly count: number }> {
  const own = existsSync(path('calls'))
    ? readFileSync(path('calls'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as CallLine)
    : [];
  const starts = new Map<string, { tool: string; count: number }>();
  for (const { phase, idempotencyKey, tool } of [...stack.tools.calls().lines, ...own]) {
    if (phase !== 'started') continue;
    const key = String(idempotencyKey);
    starts.set(key, { tool, count: (starts.get(key)?.count ?? 0) + 1 });
  }
  return starts;
}

/** Attempts of each model turn, as Temporal counts them. */
async function turnAttempts(run: WorkflowHandle): Promise<number[]> {
  const { events } = await run.fetchHistory();
  const turns = new Set(
    (events ?? []).flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === 'modelTurn' ? [String(eventId)] : [],
    ),
  );
  return (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) =>
    started !== null && started !== undefined && turns.has(String(started.scheduledEventId))
      ? [started.attempt ?? 0]
      : [],
  );
}

interface TranscriptMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly function: { readonly name: string } }[];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('workers that are replaced one by one under load', () => {
  it(
    'lose no turn, double no call, repeat nothing that had ended, and leave no process behind',
    async () => {
      let worker = await startWorker();
      const runs = await Promise.all(
        Array.from(
          { length: runCount },
          async () => await stack.start({ task: 'work', maxToolCalls: 10_000, parallelToolCalls: true }),
        ),
      );
      const results = Promise.all(runs.map(async (run) => await run.result()));
      for (let roll = 0; roll < rolls; roll += 1) {
        const next = await startWorker();
        await stack.model.waitForRequests(attempts.length + runCount);
        expect(await worker.stop()).toBe(0);
        worker = next;
      }
      await stack.model.waitForRequests(attempts.length + runCount);
      restarting = false;
      const ended = await results;
      const starts = startsByKey();
      const doubled = [...starts.values()].filter(({ tool, count }) => tool !== 'lookup' && count !== 1);
      expect(doubled).toEqual([]);
      expect(overlapping).toEqual([]);
      let calls = 0;
      for (const [index, run] of runs.entries()) {
        const transcript = await run.query<TranscriptMessage[]>(transcriptQuery);
        expect(JSON.stringify(transcript)).not.toContain('Error:');
        const replies = transcript.filter(({ role }) => role === 'assistant');
        // Turn after turn as the script has them: none is missing, none is there twice.
        const called = replies.map(({ tool_calls: list }) =>
          (list ?? []).map(({ function: { name } }) => name),
        );
        const expected = called.map((_reply, turn) =>
          turn === called.length - 1 ? [] : (rounds[turn % rounds.length] ?? []).map(({ name }) => name),
        );
        expect(called).toEqual(expected);
        const toolCalls = called.flat().length;
        calls += toolCalls;
        expect(ended[index]).toMatchObject({
          text: 'all done',
          counters: { turns: replies.length, toolCalls, failedToolCalls: 0 },
        });
        const counted = await turnAttempts(run);
        expect(counted).toHaveLength(replies.length);
        for (const [turn, count] of counted.entries()) {
          const asked = attempts.filter((attempt) => attempt.turn === `${run.workflowId} ${turn + 1}`).length;
          expect(asked).toBeLessThanOrEqual(count);
          expect(count).toBeLessThanOrEqual(1 + rolls);
        }
      }
      expect(starts.size).toBe(calls);
      expect(await worker.stop()).toBe(0);
      const pids = readFileSync(path('pids'), 'utf8').trim().split(/\s+/).map(Number);
      expect(pids.length).toBe(2 * (rolls + 1));
      await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 5_000 });
    },
    timeoutMs,
  );
});

describe('a call that must not be repeated and does not end', () => {
  it(
    'gets 20 s after its worker was asked to stop; then the model hears that its outcome is unknown',
    async () => {
      stack.model.script((request) => {
        if (request.headers['x-fermata-turn'] === '1') {
          request.call([{ name: 'kit__wait', arguments: { milliseconds: 600_000 } }]);
        } else request.say('I will check.');
      });
      const before = stack.tools.calls().tools['wait']?.started ?? 0;
      const leaving = await startWorker();
      const run = await stack.start({ task: 'wait' });
      await stack.tools.waitFor(({ tools }) => tools['wait']?.started === before + 1, 60_000);
      const worker = await stack.newWorker();
      const askedMs = performance.now();
      expect(await leaving.stop()).toBe(0);
      const tookMs = performance.now() - askedMs;
      expect(tookMs).toBeGreaterThanOrEqual(19_000);
      expect(tookMs).toBeLessThan(40_000);
      expect(await run.result()).toMatchObject({
        text: 'I will check.',
        counters: { turns: 2, toolCalls: 1, failedToolCalls: 1 },
      });
      const transcript = await run.query<{ role: string; content: string }[]>(transcriptQuery);
      expect(transcript.find(({ role }) => role === 'tool')?.content).toMatch(
        /^Error: the outcome of this call is unknown: the worker that ran it had to stop/,
      );
      const { tools } = stack.tools.calls();
      expect(tools['wait']?.started).toBe(before + 1);
      await stack.tools.waitFor(({ running }) => running === 0, 10_000);
      await worker.close();
    },
    timeoutMs,
  );
});
