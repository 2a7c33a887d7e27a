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

/** Seconds of each with `--quick` on 2 cores; together under half an hour. */
const quickShares: Readonly<Record<string, number>> = {
  scheduler: 40,
  overhead: 210,
  'overhead-outside': 70,
  decide: 75,
  idle: 110,
  routing: 150,
  flood: 210,
  'flood-mcp': 150,
  fanout: 90,
  fairness: 150,
  steps: 110,
  waits: 50,
  scale: 150,
  durability: 110,
  'sim-flood': 60,
};

/** Without `--quick` they take as long as they take, up to this many times their share. */
const fullFactor = 12;

/** @param names those that are wanted, in the order of the plan; absent: all. */
export function planOf(
  quick: boolean,
  names: readonly string[] = Object.keys(quickShares),
): readonly Entry[] {
  return Object.entries(quickShares)
    .filter(([name]) => names.includes(name))
    .map(([name, shareSeconds]): Entry => {
      const script = name.startsWith('sim-') ? 'sim' : 'bench';
      const own = name.replace(/^sim-/, '');
      return {
        name,
        script,
        words: quick ? [own, '--quick'] : [own],
        shareSeconds: quick ? shareSeconds : shareSeconds * fullFactor,
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
