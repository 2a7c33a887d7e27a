import { describe, expect, it } from 'vitest';
import { aftermathOf, allWentOn, slowestStops } from '../../../bench/durability/aftermath.ts';
import type { PartName } from '../../../bench/durability/kill-plan.ts';
import type { Observations } from '../../../bench/durability/recorder.ts';
import type { TranscriptMessage } from '../../../bench/durability/verdict.ts';
import { killAt, seen, seenRun, turnAt } from './seen-run.ts';

const run = seenRun('once');
const handle = run.handle ?? '';

function aftermath(part: PartName, observations: Observations, transcript: TranscriptMessage[] = []) {
  return aftermathOf(observations, new Map([[handle, transcript]])).find((one) => one.part === part);
}

const call = {
  run: handle,
  callId: 'call_1',
  tool: 'wait',
  arguments: '{}',
  startMs: 2_000,
  endMs: 2_500,
  finished: false,
};

describe('what a kill leaves', () => {
  it('is a turn that is asked for again, and a run that goes on with it', () => {
    const cut = turnAt(run, 1, { endMs: 2_500, finished: false });
    const again = turnAt(run, 1, { startMs: 6_500 });
    const observations = seen({ runs: [run], kills: [killAt('worker', 2_400)], turns: [cut, again] });
    expect(aftermath('worker', observations)).toMatchObject({
      kills: 1,
      downMs: 500,
      turns: { wentOn: 0, retried: 1 },
      stopped: 1,
      goOnMs: { median: 4_100, slowest: 4_100, alone: 1 },
    });
  });

  it('is nothing where the turn ends by itself: the run never stood still', () => {
    const turns = [turnAt(run, 1), turnAt(run, 2, { startMs: 8_000 })];
    const observations = seen({ runs: [run], kills: [killAt('mcp-server', 2_400)], turns });
    expect(aftermath('mcp-server', observations)).toMatchObject({
      turns: { wentOn: 1, retried: 0 },
      stopped: 0,
      goOnMs: { slowest: null },
    });
  });

  it('is a call whose outcome nobody knows, one that is made again, or one that went on', () => {
    const calls = [call, { ...call, callId: 'call_2' }, { ...call, callId: 'call_2', startMs: 5_000 }];
    const others = [{ ...call, callId: 'call_3', endMs: 4_000, finished: true }];
    const observations = seen({
      runs: [run],
      kills: [killAt('worker', 2_200)],
      calls: [...calls, ...others],
    });
    const told = {
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'Error: the outcome of this call is unknown: x',
    };
    expect(aftermath('worker', observations, [told])?.calls).toEqual({ wentOn: 1, retried: 1, unknown: 1 });
  });

  it('is put down to several parts where another was down meanwhile', () => {
    const turns = [turnAt(run, 1, { endMs: 2_500, finished: false }), turnAt(run, 1, { startMs: 6_500 })];
    const kills = [killAt('worker', 2_400), killAt('proxy', 1_000, 3_000)];
    expect(aftermath('worker', seen({ runs: [run], kills, turns }))?.goOnMs).toMatchObject({
      slowest: null,
      slowestOfSeveral: 4_100,
      alone: 0,
    });
  });

  it('is a client that asks again', () => {
    const clientCalls = [
      { tool: 'await', server: null, startMs: 1_000, endMs: 2_500, failure: 'fetch failed' },
      { tool: 'await', server: null, startMs: 1_000, endMs: 3_000, failure: null },
    ];
    const observations = seen({ clientCalls, kills: [killAt('mcp-server', 2_400)] });
    expect(aftermath('mcp-server', observations)?.clientCalls).toMatchObject({ wentOn: 1, retried: 1 });
  });
});

describe('the wait after a kill that stands alone', () => {
  const kill = killAt('worker', 2_400);
  const open = { ...run, endMs: null };
  const cut = turnAt(run, 1, { endMs: 2_500, finished: false });

  it('lasts until every run that was open has done something new', () => {
    expect(allWentOn(kill, seen({ runs: [open], turns: [cut] }))).toBe(false);
    expect(allWentOn(kill, seen({ runs: [open], turns: [cut, turnAt(run, 1, { startMs: 6_000 })] }))).toBe(
      true,
    );
  });

  it('does not wait for a turn that the kill did not touch, nor for runs that came later', () => {
    const running = turnAt(run, 1, { endMs: null, finished: false });
    expect(allWentOn(kill, seen({ runs: [open], turns: [running] }))).toBe(true);
    expect(allWentOn(kill, seen({ runs: [{ ...open, startMs: 3_000 }] }))).toBe(true);
  });
});

describe('the runs that stood still longest', () => {
  const turns = [turnAt(run, 1, { endMs: 2_500, finished: false }), turnAt(run, 1, { startMs: 6_500 })];

  it('are told with what died before', () => {
    const kills = [killAt('proxy', 1_000, 1_500), killAt('worker', 2_400)];
    expect(slowestStops(seen({ runs: [run], kills, turns }), 'worker', 3)).toMatchObject([
      { goOnMs: 4_100, alone: true, before: [{ part: 'proxy', secondsBefore: 1.4 }] },
    ]);
  });

  it('are those of several deaths only where none stood alone', () => {
    const kills = [killAt('worker', 2_400), killAt('proxy', 1_000, 3_000)];
    expect(slowestStops(seen({ runs: [run], kills, turns }), 'worker', 3)).toMatchObject([{ alone: false }]);
    expect(slowestStops(seen({ runs: [run], kills, turns }), 'temporal', 3)).toEqual([]);
  });
});
