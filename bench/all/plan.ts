/** Which benchmarks `npm run bench -- all` runs, in which order, and how much of the time each may take. Pure. */

export interface Entry {
  /** As its result file is named. */
  readonly name: string;
  /** What a user types after `npm run`. */
  readonly script: 'bench' | 'sim';
  readonly words: readonly string[];
  /** Seconds that it may take; what it leaves over, those after it may use. */
  readonly shareSeconds: number;
}

interface Share {
  /** Seconds with `--quick` on 2 cores; together under half an hour. */
  readonly seconds: number;
  /** Words beside `--quick`, where its own default takes longer than its share. */
  readonly quickWords?: readonly string[];
}

/** `flood` reads what `sim-flood` has found. */
const shares: Readonly<Record<string, Share>> = {
  scheduler: { seconds: 25 },
  'scheduler-faults': { seconds: 15 },
  'sim-flood': { seconds: 15 },
  // The SGLang router and the arms that only explain are left to a run of its own.
  overhead: { seconds: 206, quickWords: ['--arms=litellm,portkey'] },
  'overhead-outside': { seconds: 57 },
  decide: { seconds: 87 },
  idle: { seconds: 78 },
  // Seven arms at once: three rounds.
  routing: { seconds: 130, quickWords: ['--lanes=7'] },
  // The first rival, the strongest one, and ours: two rounds of six lanes.
  flood: { seconds: 228, quickWords: ['--arms=sglang-router,vllm-router-programs,engine-load,residency'] },
  'flood-mcp': { seconds: 220 },
  fanout: { seconds: 124 },
  fairness: { seconds: 153 },
  steps: { seconds: 132 },
  waits: { seconds: 30 },
  'long-runs': { seconds: 59 },
  scale: { seconds: 200 },
  // Each kill is followed until every run has gone on: two fit, in 34 s.
  durability: { seconds: 38, quickWords: ['--only=worker', '--kills=2'] },
};

/** Without `--quick` they take as long as they take, up to this many times their share. */
const fullFactor = 12;

/** @param names those that are wanted, in the order of the plan; absent: all. */
export function planOf(quick: boolean, names: readonly string[] = Object.keys(shares)): readonly Entry[] {
  return Object.entries(shares)
    .filter(([name]) => names.includes(name))
    .map(([name, { seconds, quickWords = [] }]): Entry => {
      const script = name.startsWith('sim-') ? 'sim' : 'bench';
      const own = name.replace(/^sim-/, '');
      return {
        name,
        script,
        words: quick ? [own, '--quick', ...quickWords] : [own],
        shareSeconds: quick ? seconds : seconds * fullFactor,
      };
    });
}

export function commandOf({ script, words }: Pick<Entry, 'script' | 'words'>): string {
  return `npm run ${script} -- ${words.join(' ')}`;
}

/** Milliseconds that the entry at `index` may take, when those before it took `spentMs` together. */
export function limitOf(plan: readonly Entry[], index: number, spentMs: number): number {
  const granted = plan.slice(0, index + 1).reduce((sum, { shareSeconds }) => sum + shareSeconds * 1_000, 0);
  return Math.max((plan[index]?.shareSeconds ?? 0) * 1_000, granted - spentMs);
}
