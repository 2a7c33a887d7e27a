import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import type { Life } from '../../../bench/operate/member.ts';
import { memberKinds } from '../../../bench/operate/cluster-plan.ts';
import { isExpectedToGrow, type FileSample } from '../../../bench/soak/file-growth.ts';
import { fileGrowthOf, growthOf, moreOf, quartersOf } from '../../../bench/soak/flatness.ts';
import type { SoakFound } from '../../../bench/soak/found.ts';
import { areAgentsAhead, isDurableAhead } from '../../../bench/soak/pace.ts';
import { measuredTurns, planOf, quarterOf } from '../../../bench/soak/plan.ts';
import { soakBars, soakText } from '../../../bench/soak/summary.ts';
import type { Sample } from '../../../bench/soak/survivors.ts';

const mebibyte = 1_048_576;

/** Five samples a quarter from the second on; memory as told by the quarter. */
function samplesOf(rssMiB: (quarter: number, index: number) => number, open = 40): Sample[] {
  return memberKinds.flatMap((kind) =>
    [2, 3, 4].flatMap((quarter) =>
      Array.from({ length: 5 }, (_, index) => ({
        kind,
        turns: quarter * 25_000,
        quarter,
        rssBytes: rssMiB(quarter, index) * mebibyte,
        heapBytes: 50 * mebibyte,
        files: quarter === 4 ? open : 40,
        sockets: quarter === 4 ? open - 20 : 20,
      })),
    ),
  );
}

/** Three samples of the second and the last quarter. */
function filesOf(last: readonly string[], bytes: number): FileSample[] {
  const before = { quarter: 2, bytes: 1_000, names: ['config.yaml', 'lease-7'] };
  const after = { quarter: 4, bytes, names: last };
  return [before, before, before, after, after, after];
}

const lives: Life[] = memberKinds.flatMap((kind) =>
  (['killed', 'stopped'] as const).map((end) => ({
    member: `${kind}-2`,
    kind,
    pid: 7,
    readyMs: 0,
    toldMs: 1,
    goneMs: 2,
    end,
    exitCode: end === 'stopped' ? 0 : null,
  })),
);

const good: SoakFound = {
  seconds: 600,
  restarts: 60,
  samples: samplesOf(() => 120),
  // One is replaced by the next, as a lease is.
  files: filesOf(['config.yaml', 'lease-8'], 1_000),
  verdict: {
    lost: [],
    toolsLeftOut: [],
    unsettled: [],
    turnsDoubled: 0,
    callsDoubled: 0,
    effectsDoubled: 0,
    turnsAskedAgain: 3,
    turns: 6_000,
    onceCalls: 10,
    repeatableCalls: 10,
    repeatedCalls: 1,
    outcomesUnknown: 0,
  },
  runs: 2_000,
  agents: { runs: 15_000, answered: 94_500, lost: 0, losses: [], doubled: [], brokenRequests: 20 },
  lives,
  left: [],
};
const missed = (found: SoakFound): string[] =>
  soakBars(planOf(false), found)
    .filter((one) => !isMet(one))
    .map(({ name }) => name);

describe('the bars of the soak', () => {
  it('are met where nothing is lost and nothing grows', () => {
    expect(missed(good)).toEqual([]);
    expect(soakText(planOf(false), good)).toContain('100500 turns in 600 s');
  });

  it.each<[string, Partial<SoakFound>]>([
    ['soak turns', { agents: { ...good.agents, answered: 90_000 } }],
    ['soak turns lost', { agents: { ...good.agents, lost: 1 } }],
    ['soak turns doubled', { agents: { ...good.agents, doubled: ['1-1:2'] } }],
    ['soak runs lost', { verdict: { ...good.verdict, lost: ['run_x'] } }],
    ['soak runs lost', { verdict: { ...good.verdict, unsettled: ['run_x'] } }],
    [
      'soak runs begun without tools %',
      { verdict: { ...good.verdict, toolsLeftOut: Array.from({ length: 30 }, String) } },
    ],
    ['soak turns doubled', { verdict: { ...good.verdict, turnsDoubled: 1 } }],
    ['soak tool calls doubled', { verdict: { ...good.verdict, callsDoubled: 1 } }],
    ['soak turns and calls left in hand', { left: ['proxy-1: 1 turns held'] }],
    ['soak kinds of parts restarted', { lives: lives.filter(({ kind }) => kind !== 'worker') }],
    ['soak files more beside logs', { files: filesOf(['config.yaml', 'lease-8', 'tmp/b'], 1_000) }],
    ['soak files more beside logs', { files: [] }],
    ['soak files grown by KiB beside logs', { files: filesOf(['config.yaml', 'lease-8'], 99_000) }],
  ])('miss %s where it is broken', (name, change) => {
    expect(missed({ ...good, ...change })).toContain(name);
  });

  it('miss the memory of every kind that grows by more than a tenth, whatever single samples say', () => {
    const spiky = samplesOf((_, index) => (index === 0 ? 300 : 120));
    expect(missed({ ...good, samples: spiky })).toEqual([]);
    const growing = samplesOf((quarter) => 100 + 6 * quarter);
    expect(missed({ ...good, samples: growing })).toEqual(
      memberKinds.map((kind) => `soak ${kind} memory, last quarter over second`),
    );
  });

  it('miss memory that was not measured, but for the quick form, which has no such bar', () => {
    expect(missed({ ...good, samples: [] })).toContain('soak proxy memory, last quarter over second');
    const quick = soakBars(planOf(true), good).map(({ name }) => name);
    expect(quick.some((name) => name.includes('memory'))).toBe(false);
    expect(quick).toContain('soak turns lost');
  });

  it('miss open files and sockets that stay behind', () => {
    expect(missed({ ...good, samples: samplesOf(() => 120, 49) })).toContain('soak proxy open sockets more');
  });
});

describe('flatness', () => {
  it('is told by the middles of the second and the last quarter', () => {
    const [first] = quartersOf(
      samplesOf((quarter) => quarter * 100),
      'rssBytes',
    );
    expect(first === undefined ? null : growthOf(first)).toBe(2);
    expect(first === undefined ? null : moreOf(first)).toBe(200 * mebibyte);
  });

  it('is not told from fewer than three samples', () => {
    const [first] = quartersOf(samplesOf(() => 1).slice(0, 2), 'rssBytes');
    expect(first === undefined ? null : growthOf(first)).toBeNull();
  });

  it('looks past logs, the database and its own samples', () => {
    expect(['logs/proxy-1.log', 'temporal.db-wal', 'proxy-1.memory'].map(isExpectedToGrow)).toEqual([
      true,
      true,
      true,
    ]);
    expect(['tmp/x', 'workflows-1.js', 'scheduler-lease/lease'].map(isExpectedToGrow)).toEqual([
      false,
      false,
      false,
    ]);
    expect(fileGrowthOf([])).toBeNull();
  });

  it('divides what comes after the first quarter into three', () => {
    expect([0, 24_999, 25_000, 50_000, 74_999, 120_000].map((since) => quarterOf(since, 100_000))).toEqual([
      2, 2, 3, 4, 4, 4,
    ]);
    expect(measuredTurns(planOf(false))).toBe(75_000);
  });
});

describe('the pace', () => {
  const plan = planOf(false);

  it('lets both begin, and then keeps the share of durable turns within its bounds', () => {
    expect(isDurableAhead({ durable: 50, agents: 0 }, plan)).toBe(false);
    expect(areAgentsAhead({ durable: 0, agents: 1_000 }, plan)).toBe(false);
    expect(isDurableAhead({ durable: 1_000, agents: 9_000 }, plan)).toBe(true);
    expect(areAgentsAhead({ durable: 400, agents: 12_000 }, plan)).toBe(true);
    expect(areAgentsAhead({ durable: 600, agents: 9_400 }, plan)).toBe(false);
  });

  it('never holds both', () => {
    for (let durable = 0; durable < 4_000; durable += 111) {
      for (let agents = 0; agents < 60_000; agents += 2_111) {
        const now = { durable, agents };
        expect(isDurableAhead(now, plan) && areAgentsAhead(now, plan)).toBe(false);
      }
    }
  });
});
