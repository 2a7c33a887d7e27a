/** How many tokens of live contexts a replica may have: reported, corrected by its cache, learned from nothing. */
import { describe, expect, it } from 'vitest';
import { isMeasurable, noteHit, noteMiss, unknownCapacity } from '../../../scheduler/core/capacity.ts';
import { replica, replicaState, Scenario, type TurnFields } from './scenario.ts';

const sized = (tokens: number, fields: TurnFields = {}): TurnFields => ({
  promptTokens: tokens - 100,
  maxTokens: 100,
  ...fields,
});

/** One replica; `runs` runs of 1,000 tokens are paused on it, each counted as 900 prompt and 100 output tokens. */
function withPaused(runs: number, capacityTokens: number | null = null): Scenario {
  const scenario = new Scenario([replica('a')], {
    batchShare: 0,
    pauseReservationMs: { interactive: 600_000, batch: 600_000 },
  });
  scenario.probe('a', { capacityTokens });
  for (let run = 0; run < runs; run += 1) scenario.arrive(`${run}.1`, sized(1_000, { run: `${run}` }));
  for (let run = 0; run < runs; run += 1) {
    scenario.finish(`${run}.1`, 'paused', 'p', { usage: [900, 100], cachedTokens: 0 });
  }
  return scenario;
}

/** The next turn of a paused run, which finds so many of its 1,000 tokens in the cache, and pauses again. */
function resume(scenario: Scenario, run: number, cachedTokens: number): void {
  const turn = `${run}.${scenario.log.length}`;
  scenario.arrive(turn, sized(1_200, { run: `${run}` }));
  scenario.finish(turn, 'paused', 'p', { usage: [1_100, 50], cachedTokens });
}

const capacity = (scenario: Scenario) => replicaState(scenario, 'a').capacity;
const sum = (scenario: Scenario): number => replicaState(scenario, 'a').ledger.tokens;

describe('the capacity of a replica', () => {
  it('is 87 % of what its engine reports', () => {
    expect(capacity(withPaused(0, 10_000))).toMatchObject({ tokens: 8_700, reason: 'reported' });
  });

  it('is unlimited until something is known', () => {
    const scenario = withPaused(6);
    expect(capacity(scenario)).toMatchObject({ tokens: Infinity, reason: 'unlimited', countsSeen: true });
    expect(scenario.arrive('more', sized(90_000))).toEqual(['more@a']);
  });

  it('is taken anew from another report, and not from the same one again', () => {
    const scenario = withPaused(3, 10_000);
    resume(scenario, 0, 0);
    const cut = capacity(scenario).tokens;
    expect(cut).toBeLessThan(8_700);
    scenario.probe('a', { capacityTokens: 10_000 });
    expect(capacity(scenario).tokens).toBe(cut);
    scenario.probe('a', { capacityTokens: 20_000 });
    expect(capacity(scenario).tokens).toBe(17_400);
  });

  it('is what the entry says, before what the engine reports, and without a report', () => {
    const scenario = new Scenario([replica('a', { kvCacheTokens: 4_000 })]);
    scenario.probe('a', null);
    expect(capacity(scenario)).toMatchObject({ reportedTokens: 4_000, tokens: 3_480, reason: 'reported' });
    scenario.probe('a', { capacityTokens: 16_000 });
    expect(capacity(scenario).tokens).toBe(3_480);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', { kvCacheTokens: 2_000 })] });
    scenario.probe('a', null);
    expect(capacity(scenario).tokens).toBe(1_740);
    scenario.send({ type: 'poolChanged', replicas: [replica('a')] });
    expect(capacity(scenario).tokens).toBe(Infinity);
    scenario.probe('a', { capacityTokens: 16_000 });
    expect(capacity(scenario).tokens).toBe(13_920);
  });

  it('is forgotten with the engine that had it', () => {
    const scenario = withPaused(3, 10_000);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', { url: 'http://elsewhere' })] });
    expect(capacity(scenario)).toMatchObject({ tokens: Infinity, reason: 'unlimited', countsSeen: false });
    expect(sum(scenario)).toBe(0);
  });
});

describe('a resumed turn', () => {
  it.each([
    ['finds nothing', 0, 'miss'],
    ['finds just under 80 %', 799, 'miss'],
    ['finds 80 %', 800, 'hit'],
    ['finds all', 1_000, 'hit'],
  ] as const)('that %s of what its run left is a %3$s', (_name, cachedTokens, verdict) => {
    const scenario = withPaused(3);
    resume(scenario, 0, cachedTokens);
    expect(capacity(scenario)).toMatchObject({
      hits: Number(verdict === 'hit'),
      misses: Number(verdict === 'miss'),
    });
  });

  it('that misses makes the capacity the smaller of itself and the sum, less a part', () => {
    const learned = withPaused(3);
    learned.arrive('0.2', sized(1_200, { run: '0' }));
    const present = sum(learned);
    learned.finish('0.2', 'paused', 'p', { usage: [1_100, 50], cachedTokens: 0 });
    expect(present).toBe(3_200);
    expect(capacity(learned)).toMatchObject({ tokens: 3_200 * 0.93, reason: 'miss' });
    const reported = withPaused(3, 4_000);
    resume(reported, 0, 0);
    expect(capacity(reported).tokens).toBe(3_200 * 0.93);
  });

  it('that misses never takes a report below half of what it allows', () => {
    const scenario = withPaused(3, 100_000);
    resume(scenario, 0, 0);
    expect(capacity(scenario)).toMatchObject({ tokens: 100_000 * 0.87 * 0.5, misses: 1, reason: 'miss' });
    scenario.nowMs += 2_000;
    resume(scenario, 1, 0);
    expect(capacity(scenario)).toMatchObject({ tokens: 100_000 * 0.87 * 0.5, misses: 2 });
  });

  it('that misses while its run is alone there is no sign of too little memory', () => {
    const scenario = withPaused(1);
    resume(scenario, 0, 0);
    expect(capacity(scenario)).toMatchObject({ tokens: Infinity, misses: 1 });
  });

  it('of a context too short to tell is no hit and no miss', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', {});
    scenario.arrive('1', sized(511, { run: 'x' }));
    scenario.finish('1', 'paused', 'p', { usage: [411, 100], cachedTokens: 0 });
    scenario.arrive('2', sized(600, { run: 'x' }));
    scenario.finish('2', 'paused', 'p', { usage: [550, 40], cachedTokens: 0 });
    expect(capacity(scenario)).toMatchObject({ hits: 0, misses: 0 });
  });

  it('that misses again and again without a hit shows an engine that keeps nothing: its queue decides', () => {
    const known = unknownCapacity();
    known.countsSeen = true;
    const residents = { contexts: 8, tokens: 8_000, meanTokens: 1_000 };
    const misses = (count: number): void => {
      for (let miss = 0; miss < count; miss += 1) {
        known.tokens = Infinity;
        noteMiss(known, residents, (known.missedAtMs ?? 0) + 2_000);
      }
    };
    misses(39);
    expect(isMeasurable(known)).toBe(true);
    misses(1);
    expect(isMeasurable(known)).toBe(false);
    noteHit(known, residents, false);
    expect(isMeasurable(known)).toBe(true);
  });

  it('that misses counts at most once in 2 s', () => {
    const scenario = withPaused(4, 7_000);
    resume(scenario, 0, 0);
    scenario.send({ type: 'runEnded', proxy: 'p' as never, run: '3' as never });
    const first = capacity(scenario).tokens;
    scenario.nowMs += 1_999;
    resume(scenario, 1, 0);
    expect(capacity(scenario)).toMatchObject({ tokens: first, misses: 2 });
    scenario.nowMs += 1;
    resume(scenario, 2, 0);
    expect(capacity(scenario).tokens).toBeLessThan(first);
  });

  it('that misses does not count while the residents do not fit', () => {
    const scenario = withPaused(4);
    scenario.arrive('0.2', sized(1_200, { run: '0' }));
    scenario.arrive('1.2', sized(1_200, { run: '1' }));
    scenario.finish('0.2', 'failed');
    const present = sum(scenario);
    capacity(scenario).tokens = present - 1;
    scenario.finish('1.2', 'paused', 'p', { usage: [1_100, 50], cachedTokens: 0 });
    expect(capacity(scenario)).toMatchObject({ tokens: present - 1, misses: 1 });
  });

  it('that hits makes the capacity larger by 3 % of a mean footprint, but only while turns wait', () => {
    const scenario = withPaused(3);
    capacity(scenario).tokens = 3_600;
    resume(scenario, 0, 1_000);
    expect(capacity(scenario).tokens).toBe(3_600);
    scenario.arrive('waits', sized(3_000));
    expect(scenario.replicaOf('waits')).toBeUndefined();
    scenario.arrive('1.2', sized(1_200, { run: '1' }));
    const mean = sum(scenario) / 3;
    scenario.finish('1.2', 'paused', 'p', { usage: [1_100, 50], cachedTokens: 1_000 });
    expect(capacity(scenario).tokens).toBeCloseTo(3_600 + 0.03 * mean, 6);
    expect(capacity(scenario).reason).toBe('hit');
  });

  it('that hits makes it no larger than its part of what the engine reports', () => {
    const scenario = withPaused(3, 4_000);
    scenario.arrive('waits', sized(3_000));
    resume(scenario, 0, 1_000);
    expect(capacity(scenario)).toMatchObject({ tokens: 3_480, hits: 1, reason: 'reported' });
    capacity(scenario).tokens = 3_479;
    resume(scenario, 1, 1_000);
    expect(capacity(scenario)).toMatchObject({ tokens: 3_480, hits: 2, reason: 'hit' });
  });

  it.each<[string, TurnFields, Record<string, unknown>]>([
    ['of another conversation under the same id', { prefix: ['other'] }, { cachedTokens: 0 }],
    ['whose reply does not tell what was cached', {}, {}],
  ])('%s says nothing', (_name, fields, report) => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', { capacityTokens: 10_000 });
    scenario.arrive('1', sized(1_000, { run: 'r', prefix: ['own0', 'own1'] }));
    scenario.finish('1', 'paused', 'p', { usage: [900, 100], cachedTokens: 0 });
    scenario.arrive('2', sized(1_200, { run: 'r', prefix: ['own0', 'own1', 'own2'], ...fields }));
    scenario.finish('2', 'paused', 'p', { usage: [1_100, 50], ...report });
    expect(capacity(scenario)).toMatchObject({ hits: 0, misses: 0, tokens: 8_700 });
  });

  it('of a run that is no longer resident says nothing', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', { capacityTokens: 10_000 });
    scenario.arrive('1', sized(1_000, { run: 'r' }));
    scenario.finish('1', 'paused', 'p', { usage: [900, 100], cachedTokens: 0 });
    scenario.pass(16_000);
    scenario.arrive('2', sized(1_200, { run: 'r' }));
    scenario.finish('2', 'paused', 'p', { usage: [1_100, 50], cachedTokens: 0 });
    expect(capacity(scenario)).toMatchObject({ misses: 0, tokens: 8_700 });
  });
});

it('drains an excess: while the sum is above the capacity, a run that pauses gives its place up', () => {
  const scenario = withPaused(2, 100_000);
  scenario.arrive('0.2', sized(1_200, { run: '0' }));
  capacity(scenario).tokens = 1_500;
  scenario.finish('0.2', 'paused', 'p', { usage: [1_100, 50], cachedTokens: 1_000 });
  expect(scenario.run('0')).toMatchObject({ rest: 'paused', resident: false });
  scenario.arrive('1.2', sized(1_200, { run: '1' }));
  scenario.finish('1.2', 'paused', 'p', { usage: [1_100, 50], cachedTokens: 1_000 });
  expect(scenario.run('1')).toMatchObject({ rest: 'paused', resident: true });
});
