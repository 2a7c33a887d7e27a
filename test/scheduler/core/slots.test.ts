/** Engines that keep one context in each slot, however small (llama.cpp). */
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../contracts/ids.ts';
import { admitted, replica, replicaState, Scenario } from './scenario.ts';

const reported = { capacityTokens: 100_000, capacityContexts: 4 };

/** One replica of 4 slots with memory for anything; `runs` runs of 300 tokens are paused on it. */
function withPaused(runs: number, policy: ConstructorParameters<typeof Scenario>[1] = {}): Scenario {
  const scenario = new Scenario([replica('a')], {
    batchShare: 0,
    pauseReservationMs: { interactive: 600_000, batch: 600_000 },
    ...policy,
  });
  scenario.probe('a', reported);
  for (let run = 0; run < runs; run += 1) begin(scenario, `${run}`);
  return scenario;
}

function begin(scenario: Scenario, run: string): void {
  scenario.arrive(`${run}.1`, { run, promptTokens: 280, maxTokens: 20 });
  scenario.finish(`${run}.1`, 'paused', 'p', { usage: [280, 20], cachedTokens: 0 });
}

/** The next turn of a paused run. */
function resume(scenario: Scenario, run: number, found: boolean): void {
  const turn = `${run}.${scenario.log.length}`;
  scenario.arrive(turn, { run: `${run}`, promptTokens: 280, maxTokens: 20 });
  scenario.finish(turn, 'paused', 'p', { usage: [280, 20], cachedTokens: found ? 280 : 0 });
}

const capacity = (scenario: Scenario) => replicaState(scenario, 'a').capacity;
const end = (scenario: Scenario, run: string) =>
  scenario.send({ type: 'runEnded', proxy: 'p' as never, run: run as RunId });

describe('an engine with slots', () => {
  it('is given more contexts than slots while they are found again: it may keep them elsewhere', () => {
    const scenario = withPaused(12);
    resume(scenario, 0, true);
    expect(capacity(scenario)).toMatchObject({ reportedContexts: 4, contexts: Infinity, hits: 1 });
    expect(scenario.arrive('new', { run: 'new' })).toEqual(['new@a']);
  });

  it('loses half of the contexts beyond its slots with each that was gone, down to the slots', () => {
    const scenario = withPaused(12);
    const limits: number[] = [];
    for (let run = 0; run < 12; run += 1) {
      scenario.nowMs += 2_000;
      resume(scenario, run, false);
      limits.push(capacity(scenario).contexts);
    }
    expect([...new Set(limits)]).toEqual([8, 6, 5, 4]);
    expect(replicaState(scenario, 'a').ledger.contexts).toBe(4);
  });

  it('judges contexts of one hashed block: it keeps them token by token', () => {
    const scenario = withPaused(5);
    resume(scenario, 0, false);
    expect(capacity(scenario)).toMatchObject({ misses: 1 });
  });

  it('holds a new run while as many are resident as it keeps, and lets those go on', () => {
    const scenario = withPaused(4);
    capacity(scenario).contexts = 4;
    scenario.pass(60_000);
    expect(scenario.arrive('new', { run: 'new' })).toEqual([]);
    expect(scenario.arrive('0.2', { run: '0' })).toEqual(['0.2@a']);
    scenario.finish('0.2', 'done');
    end(scenario, '0');
    expect(scenario.replicaOf('new')).toBe('a');
  });

  it('has no more new runs at work than slots: the others would wait in its queue, out of order', () => {
    const scenario = withPaused(1);
    for (const run of ['w', 'x', 'y', 'z']) scenario.arrive(`${run}.1`, { run });
    expect(scenario.arrive('new', { run: 'new' })).toEqual([]);
    expect(scenario.arrive('0.2', { run: '0' })).toEqual(['0.2@a']);
    scenario.finish('0.2', 'paused');
    expect(scenario.finish('w.1', 'done')).toEqual(['new@a']);
  });

  it('is tried with one more after 64 contexts that were found while turns wait', () => {
    const scenario = withPaused(4);
    capacity(scenario).contexts = 4;
    scenario.arrive('new', { run: 'new' });
    for (let turn = 0; turn < 63; turn += 1) resume(scenario, turn % 4, true);
    expect(scenario.replicaOf('new')).toBeUndefined();
    resume(scenario, 3, true);
    expect(scenario.replicaOf('new')).toBe('a');
  });

  it('takes nobody whose context would take the slot of a paused run, though another slot is left over', () => {
    const scenario = withPaused(0);
    capacity(scenario).contexts = 2;
    scenario.arrive('gone', { run: 'gone' });
    begin(scenario, 'r');
    scenario.finish('gone', 'done', 'p', { usage: [280, 20] });
    expect(scenario.arrive('new', { run: 'new' })).toEqual([]);
    scenario.nowMs += 1_000;
    expect(admitted(scenario.send({ type: 'ticked' }))).toEqual(['new@a']);
  });

  it('is forgotten with the engine, and learned anew when another number is reported', () => {
    const scenario = withPaused(6);
    resume(scenario, 0, false);
    expect(capacity(scenario).contexts).toBe(5);
    scenario.probe('a', reported);
    expect(capacity(scenario).contexts).toBe(5);
    scenario.probe('a', { ...reported, capacityContexts: 8 });
    expect(capacity(scenario)).toMatchObject({ reportedContexts: 8, contexts: Infinity });
    scenario.send({ type: 'poolChanged', replicas: [replica('a', { url: 'http://elsewhere' })] });
    expect(capacity(scenario)).toMatchObject({ reportedContexts: null, contexts: Infinity });
  });

  it('that reports no slots or none at all is not limited by them', () => {
    const scenario = withPaused(0);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', { url: 'http://elsewhere' })] });
    scenario.probe('a', { capacityTokens: 100_000, capacityContexts: 0 });
    expect(capacity(scenario)).toMatchObject({ reportedContexts: null, contexts: Infinity });
  });
});
