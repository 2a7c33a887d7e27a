/** A tree of sixty runs, four deep, of which all are in the middle of something when it is cancelled. */
import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runMemoKey, runMemoSchema, type RunMemo } from '../../contracts/run.ts';
import type { RequestRecord } from '../../testkit/sim-engine/request-log.ts';
import { eventually } from '../cli/run-up.ts';
import { startTestStack, type TestStack } from './start-test-stack.ts';

/**
 * The limit of the acceptance, by Temporal's clock, which is this machine's: five seconds where nothing else
 * runs, longer by as much as others have of the machine.
 */
const endLimitMs = (): number => 5_000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
/** Runs at each depth below the root; with it sixty. */
const breadths = [3, 12, 44];

let stack: TestStack;
let temporal: Client;
let connection: Connection;
beforeAll(async () => {
  stack = await startTestStack({ engines: [{ timeScale: 4 }, { timeScale: 4 }], toolDelayScale: 0.5 });
  connection = await Connection.connect({ address: inject('temporalAddress') });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection?.close();
  await stack?.close();
});

const directed = (directive: Record<string, unknown>): string => `Work. [[sim ${JSON.stringify(directive)}]]`;
/** One run waits for a tool, one speaks for a minute, one in twelve calls a tool again and again. */
function wishOf(index: number): Record<string, unknown> & { readonly task: string } {
  if (index % 12 === 5) {
    const task = directed({ calls: ['web__lookup'], repeat: true });
    return { task, tools: ['web__lookup'], maxToolCalls: 10_000 };
  }
  if (index % 2 === 0) {
    const toolArguments = { web__wait: { milliseconds: 600_000 } };
    return { task: directed({ calls: ['web__wait'], toolArguments }), tools: ['web__wait'] };
  }
  return { task: directed({ calls: [], answerTokens: 4_000 }), tools: [], maxTokens: 4_000 };
}

/** By the name in its task, which the engines see; what the proxy knows of a run does not reach them. */
const byName = new Map<string, string>();

async function spawn(index: number, parent?: string): Promise<string> {
  const { task, ...wish } = wishOf(index);
  const name = `task-${randomUUID()}`;
  const { handle } = await stack.client.call('spawn', {
    ...wish,
    task: `${name}: ${task}`,
    ...(parent === undefined ? {} : { parent }),
  });
  byName.set(name, String(handle));
  return String(handle);
}

/** By request, so that a body is searched once. */
const runs = new WeakMap<RequestRecord, string>();

/** The run that a request at an engine belongs to; empty: none of a tree, or not read yet. */
function runOfRequest(request: RequestRecord): string {
  const known = runs.get(request);
  if (known !== undefined || request.body === null) return known ?? '';
  const name = /task-[0-9a-f-]{36}/.exec(JSON.stringify(request.body))?.[0] ?? '';
  const run = byName.get(name) ?? '';
  // The name is known only once its spawn has been answered.
  if (run !== '') runs.set(request, run);
  return run;
}

interface Tree {
  readonly all: readonly string[];
  readonly root: string;
  readonly below: (handle: string) => readonly string[];
}

async function growTree(): Promise<Tree> {
  const root = await spawn(0);
  const parents = new Map<string, string>();
  const all = [root];
  let above: readonly string[] = [root];
  for (const breadth of breadths) {
    const from = all.length;
    const parentOf = (index: number): string => above[index % above.length] ?? root;
    const level = await Promise.all(
      Array.from({ length: breadth }, async (_, index) => await spawn(from + index, parentOf(index))),
    );
    for (const [index, handle] of level.entries()) parents.set(handle, parentOf(index));
    all.push(...level);
    above = level;
  }
  const isBelow = (handle: string, top: string): boolean => {
    for (let at: string | undefined = handle; at !== undefined; at = parents.get(at))
      if (at === top) return true;
    return false;
  };
  return { all, root, below: (top) => all.filter((handle) => isBelow(handle, top)) };
}

/** Runs of which the engines or the tool server hold something now. */
function workingRuns(): Set<string> {
  const atEngines = stack.engines.flatMap((engine) =>
    engine
      .requests()
      .filter(({ endedAtMs }) => endedAtMs === null)
      .map(runOfRequest),
  );
  const open = new Map<number, string>();
  for (const { call, phase, idempotencyKey } of stack.tools.calls().lines) {
    if (phase === 'started') open.set(call, (idempotencyKey ?? '').split(':')[0] ?? '');
    else open.delete(call);
  }
  return new Set([...atEngines, ...open.values()]);
}

/** Most runs hold a stream or a call; the others are between two steps, or held by the scheduler. */
async function inTheMiddle({ all }: Tree): Promise<void> {
  await eventually(
    'most are at work',
    async () => {
      await delay(500);
      return workingRuns().size >= all.length * 0.8;
    },
    90_000,
  );
}

/** Work of the runs that began after `atMs`. */
function workSince(handles: readonly string[], atMs: number): number {
  const requests = stack.engines.flatMap((engine) =>
    engine
      .requests()
      .filter((request) => request.arrivedAtMs > atMs && handles.includes(runOfRequest(request))),
  );
  const calls = stack.tools
    .calls()
    .lines.filter(
      ({ phase, at, idempotencyKey }) =>
        phase === 'started' &&
        Date.parse(at) > atMs &&
        handles.includes((idempotencyKey ?? '').split(':')[0] ?? ''),
    );
  return requests.length + calls.length;
}

const describeRun = async (handle: string) => await temporal.workflow.getHandle(handle).describe();
async function memoOf(handle: string): Promise<RunMemo> {
  return runMemoSchema.parse((await describeRun(handle)).memo?.[runMemoKey]);
}

/** When the last of the runs ended, all of them cancelled; ms since the epoch. */
async function whenCancelled(handles: readonly string[]): Promise<number> {
  const ends = new Map<string, number>();
  await eventually(
    'all have ended',
    async () => {
      for (const handle of handles) {
        if (ends.has(handle)) continue;
        const { closeTime, status } = await describeRun(handle);
        if (closeTime === undefined) {
          // Looking must not take the time of ending.
          await delay(200);
          return false;
        }
        expect(status.name).toBe('CANCELLED');
        ends.set(handle, closeTime.getTime());
      }
      return true;
    },
    100_000,
  );
  return Math.max(...ends.values());
}

/** Passes through every part once more, so that whatever was on its way has come through too. */
async function passThrough(): Promise<void> {
  const task = directed({ calls: ['web__lookup'], answer: 'through' });
  await stack.client.call('run', { task, tools: ['web__lookup'] });
}

async function expectNoWork(handles: readonly string[], endedAtMs: number): Promise<void> {
  await eventually('no work', () => handles.every((handle) => !workingRuns().has(handle)), endLimitMs());
  await passThrough();
  expect(workSince(handles, endedAtMs)).toBe(0);
}

describe('a tree of sixty runs, four deep, in the middle of its work', { timeout: 300_000 }, () => {
  let tree: Tree;
  it('ends one inner run with what is below it, and nothing else', async () => {
    tree = await growTree();
    await inTheMiddle(tree);
    const inner = tree.all[1] ?? '';
    const ending = tree.below(inner);
    expect(ending.length).toBeGreaterThan(15);
    const others = tree.all.filter((handle) => !ending.includes(handle));
    const cancelledAtMs = Date.now();
    const answer = await stack.client.call('cancel', { handle: inner, reason: 'a dead end' });
    expect(answer).toMatchObject({ reached: ending.length });
    const endedAtMs = await whenCancelled(ending);
    expect(endedAtMs - cancelledAtMs).toBeLessThan(endLimitMs());
    await expectNoWork(ending, endedAtMs);
    const standing = await Promise.all(others.map(describeRun));
    expect(new Set(standing.map(({ status }) => status.name))).toEqual(new Set(['RUNNING']));
    expect([...workingRuns()].filter((handle) => others.includes(handle)).length).toBeGreaterThan(15);
    await expect(stack.client.call('spawn', { task: 'late', parent: ending.at(-1) })).rejects.toThrow(
      `was cancelled with ${inner} (a dead end)`,
    );
  });

  it('ends as a whole when its root is cancelled, and nothing of it starts later', async () => {
    const left = tree.all.filter((handle) => !tree.below(tree.all[1] ?? '').includes(handle));
    const cancelledAtMs = Date.now();
    const answer = await stack.client.call('cancel', { handle: tree.root, reason: 'no longer wanted' });
    expect(answer).toMatchObject({ reached: left.length });
    const endedAtMs = await whenCancelled(tree.all);
    expect(endedAtMs - cancelledAtMs).toBeLessThan(endLimitMs());
    await expectNoWork(tree.all, endedAtMs);
    expect(await memoOf(tree.root)).toMatchObject({ status: 'Cancelled', reason: 'no longer wanted' });
    const child = tree.all[2] ?? '';
    expect(await memoOf(child)).toMatchObject({
      reason: `cancelled with its parent ${tree.root}: no longer wanted`,
    });
    await expect(stack.client.call('spawn', { task: 'late', parent: child })).rejects.toThrow(
      'was cancelled',
    );
  });

  it('ends all sixty at once', async () => {
    const whole = await growTree();
    await inTheMiddle(whole);
    const cancelledAtMs = Date.now();
    const answer = await stack.client.call('cancel', { handle: whole.root });
    expect(answer).toMatchObject({ reached: 60 });
    const endedAtMs = await whenCancelled(whole.all);
    expect(endedAtMs - cancelledAtMs).toBeLessThan(endLimitMs());
    await expectNoWork(whole.all, endedAtMs);
    const status = await stack.client.call('status', { handle: whole.root });
    expect(status).toMatchObject({ subtree: { runs: 60, atWork: 0 } });
    expect(status['children']).toHaveLength(3);
  });
});
