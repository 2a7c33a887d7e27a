/** Late, doubled and foreign reports; ends of runs; retries; expiry; bounds. */
import { describe, expect, it } from 'vitest';
import type { ProxyId, ReplicaId, RunId, TurnId } from '../../../contracts/ids.ts';
import type { ResyncRun } from '../../../contracts/link-protocol.ts';
import { step } from '../../../scheduler/core/step.ts';
import { maxRuns } from '../../../scheduler/core/limits.ts';
import { admitted, rejected, replica, Scenario, spec } from './scenario.ts';

const p = 'p' as ProxyId;
const one = [replica('a', { maxConcurrent: 1 })];

describe('a report', () => {
  it.each([
    ['turnAbandoned', { type: 'turnAbandoned', proxy: p, turn: 'none' as TurnId }],
    ['turnStarted', { type: 'turnStarted', proxy: p, turn: 'none' as TurnId }],
    ['turnFinished', { type: 'turnFinished', proxy: p, turn: 'none' as TurnId, outcome: 'done' }],
    ['turnsProgressed', { type: 'turnsProgressed', proxy: p, turns: ['none' as TurnId] }],
    ['runEnded', { type: 'runEnded', proxy: p, run: 'none' as RunId }],
  ] as const)('%s about what nobody knows changes nothing', (_name, event) => {
    const scenario = new Scenario(one);
    expect(scenario.send(event)).toEqual([]);
    expect(scenario.state.turns.size + scenario.state.runs.size).toBe(0);
  });

  it('of a proxy about the turn of another one changes nothing', () => {
    const scenario = new Scenario(one);
    scenario.resync('q');
    scenario.arrive('mine');
    scenario.arrive('waits');
    expect(scenario.finish('mine', 'done', 'q')).toEqual([]);
    expect(scenario.abandon('waits', 'q')).toEqual([]);
    expect(scenario.state.turns.size).toBe(2);
  });

  it('that a turn arrived, said twice, holds and admits it once', () => {
    const scenario = new Scenario(one);
    expect(scenario.arrive('t')).toEqual(['t@a']);
    expect(scenario.arrive('t')).toEqual([]);
    scenario.arrive('u');
    scenario.arrive('u');
    expect(scenario.finish('t')).toEqual(['u@a']);
    expect(scenario.state.heldTurns).toBe(0);
  });

  it('that the client left, crossing the admission, frees the place', () => {
    const scenario = new Scenario(one);
    scenario.arrive('t', { run: 'r' });
    scenario.arrive('next');
    expect(scenario.abandon('t')).toEqual(['next@a']);
    expect(scenario.finish('t', 'failed')).toEqual([]);
    expect(scenario.run('r')).toMatchObject({ rest: 'idle' });
  });
});

describe('the end of a run', () => {
  it('refuses its held turns and aborts those in flight, each at the proxy that has it', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 2 })]);
    scenario.resync('q');
    scenario.arrive('x');
    scenario.arrive('flies', { run: 'r', proxy: 'q' });
    scenario.arrive('waits', { run: 'r' });
    expect(scenario.send({ type: 'runEnded', proxy: p, run: 'r' as RunId })).toEqual([
      { type: 'reject', proxy: 'p', turn: 'waits', code: 'run_ended' },
      { type: 'abort', proxy: 'q', turn: 'flies' },
    ]);
    expect(scenario.run('r')).toBeUndefined();
    expect(scenario.state.replicas.get(replica('a').id)?.inFlight).toBe(2);
    scenario.finish('flies', 'failed', 'q');
    expect(scenario.state.replicas.get(replica('a').id)?.inFlight).toBe(1);
    expect(scenario.run('r')).toBeUndefined();
  });

  it('does not touch a new run of the same name', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.arrive('old', { run: 'r' });
    scenario.send({ type: 'runEnded', proxy: p, run: 'r' as RunId });
    expect(scenario.arrive('new', { run: 'r' })).toEqual(['new@a']);
    scenario.finish('old', 'failed');
    expect(scenario.run('r')).toMatchObject({ turns: 1 });
    scenario.finish('new', 'paused');
    expect(scenario.run('r')).toMatchObject({ rest: 'paused' });
  });
});

describe('a turn that comes back', () => {
  /** `lost` arrives first, is lost in some way, and comes back after `later` arrived. */
  function order(lose: (scenario: Scenario) => void, waitMs: number, numbers = [7, 7]): string[] {
    const scenario = new Scenario(one);
    scenario.resync('q');
    const [first, second] = numbers;
    scenario.arrive('lost', { run: 'r', ...(first === undefined ? {} : { turnNumber: first }) });
    if (scenario.replicaOf('lost') !== undefined) scenario.arrive('busy', { proxy: 'q' });
    lose(scenario);
    const blocker = [...scenario.state.turns.values()].find((turn) => turn.replica !== null);
    if (blocker === undefined) throw new Error('the place is free');
    scenario.arrive('later', { proxy: 'q' });
    scenario.pass(waitMs);
    scenario.resync('p');
    scenario.arrive('back', { run: 'r', ...(second === undefined ? {} : { turnNumber: second }) });
    const went = scenario.finish(blocker.spec.turn, 'done', 'q');
    return went.map((admission) => admission.split('@')[0] ?? '');
  }
  const failed = (scenario: Scenario): void => void scenario.finish('lost', 'failed');

  it('within 60 s of its failure keeps its first arrival time', () => {
    expect(order(failed, 59_000)).toEqual(['back']);
  });

  it('later than that goes to the end', () => {
    expect(order(failed, 61_000)).toEqual(['later']);
  });

  it('with another turn number, or without one, goes to the end', () => {
    expect(order(failed, 1_000, [7, 8])).toEqual(['later']);
    expect(order(failed, 1_000, [])).toEqual(['later']);
  });

  it('after its client left while it was held keeps its first arrival time, also on another proxy', () => {
    const scenario = new Scenario(one);
    scenario.resync('q');
    scenario.arrive('busy', { proxy: 'q' });
    scenario.arrive('lost', { run: 'r', turnNumber: 1 });
    scenario.arrive('later', { proxy: 'q' });
    scenario.lose();
    scenario.nowMs += 5_000;
    scenario.arrive('back', { run: 'r', turnNumber: 1, proxy: 'q' });
    expect(scenario.finish('busy', 'done', 'q')).toEqual(['back@a']);
  });
});

describe('time', () => {
  it('drops a turn in flight of which nothing was heard for 10 min', () => {
    const scenario = new Scenario(one);
    scenario.arrive('silent', { run: 'r' });
    scenario.nowMs += 300_000;
    scenario.send({ type: 'turnStarted', proxy: p, turn: 'silent' as TurnId });
    scenario.nowMs += 590_000;
    scenario.pass(9_000);
    expect(scenario.replicaOf('silent')).toBe('a');
    scenario.arrive('next');
    expect(admitted(scenario.pass(1_000))).toEqual(['next@a']);
    expect(scenario.run('r')).toMatchObject({ rest: 'idle' });
  });

  it('keeps a turn that goes on receiving bytes', () => {
    const scenario = new Scenario(one);
    scenario.arrive('long');
    for (let minute = 0; minute < 30; minute += 1) {
      scenario.nowMs += 59_000;
      scenario.pass(1_000);
      scenario.send({ type: 'turnsProgressed', proxy: p, turns: ['long' as TurnId] });
    }
    expect(scenario.replicaOf('long')).toBe('a');
  });

  it('never drops a held turn', () => {
    const scenario = new Scenario(one);
    scenario.probe('a', null, false);
    scenario.arrive('held');
    scenario.nowMs += 4_000_000;
    scenario.pass(2_000);
    expect(scenario.probe('a')).toEqual(['held@a']);
  });

  it('forgets a run 30 min after its last turn, and everything else with it', () => {
    const scenario = new Scenario(one);
    scenario.serve('t', { run: 'r' }, 'paused');
    scenario.nowMs += 1_790_000;
    scenario.pass(9_000);
    expect(scenario.run('r')).toBeDefined();
    scenario.pass(1_000);
    expect(scenario.run('r')).toBeUndefined();
    const { state } = scenario;
    expect(state.turns.size + state.callers.size + state.losses.size + state.resting.size).toBe(0);
  });

  it('that is set back stands still for a moment and goes on', () => {
    const scenario = new Scenario(one);
    scenario.serve('t', { run: 'r' }, 'paused');
    scenario.nowMs -= 3_600_000;
    scenario.pass(14_000);
    expect(scenario.run('r')?.resident).toBe(true);
    scenario.pass(2_000);
    expect(scenario.run('r')?.resident).toBe(false);
  });
});

describe('bounds', () => {
  it('reject the turn that comes when maxHeld turns are held; those go on waiting', () => {
    const scenario = new Scenario(one, { maxHeld: 2 });
    scenario.arrive('busy');
    for (const turn of ['h1', 'h2']) scenario.arrive(turn);
    const effects = scenario.send({ type: 'turnArrived', proxy: p, spec: spec('more'), heldForMs: 0 });
    expect(rejected(effects)).toEqual(['more:overloaded']);
    expect(scenario.state.runs.size).toBe(3);
    expect(scenario.finish('busy')).toEqual(['h1@a']);
  });

  it('let a turn pass that need not be held, however many are', () => {
    const scenario = new Scenario([...one, replica('b', { models: ['n'] })], { maxHeld: 1 });
    scenario.arrive('busy');
    scenario.arrive('held');
    expect(scenario.arrive('other', { model: 'n' })).toEqual(['other@b']);
  });

  it('forget the run that has rested longest when there are too many', () => {
    const { state, nowMs } = new Scenario([replica('a')]);
    const { class: serviceClass, caller } = spec('any');
    const resting = (index: number): ResyncRun => ({
      run: `run${index}` as RunId,
      class: serviceClass,
      caller,
      replica: 'a' as ReplicaId,
      phase: 'idle',
      footprintTokens: 1,
      idleForMs: 1_000 + index,
    });
    const runs = Array.from({ length: maxRuns }, (_value, index) => resting(index));
    step(state, { type: 'proxyResynced', atMs: nowMs, proxy: p, runs, held: [], inFlight: [] });
    expect(state.runs.size).toBe(maxRuns);
    step(state, { type: 'turnArrived', atMs: nowMs, proxy: p, spec: spec('new'), heldForMs: 0 });
    expect(state.runs.size).toBe(maxRuns);
    expect(state.runs.has(`run${maxRuns - 1}` as RunId)).toBe(false);
    expect(state.runs.has(`run${maxRuns - 2}` as RunId)).toBe(true);
  });
});
