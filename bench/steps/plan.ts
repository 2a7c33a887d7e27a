/** How much of each measurement, how often, and what the limits are. Pure. */

export interface Plan {
  readonly repeats: number;
  /** One run after the other, alone on the machine. */
  readonly alone: { readonly runs: number; readonly stepsPerRun: number };
  readonly together: { readonly runs: number; readonly stepsPerRun: number };
  /** Runs spawned at once; each burst begins on an idle stack. */
  readonly burst: { readonly runs: number; readonly burstsPerRepeat: number };
  /** Runs of no step, `steps` steps and twice as many. */
  readonly history: { readonly steps: number };
}

const full: Plan = {
  repeats: 3,
  alone: { runs: 4, stepsPerRun: 25 },
  together: { runs: 100, stepsPerRun: 24 },
  burst: { runs: 16, burstsPerRepeat: 3 },
  history: { steps: 30 },
};

/** @param quick shortens windows; repeats, runs side by side and bars stay. */
export function planOf(quick: boolean): Plan {
  if (!quick) return full;
  return {
    ...full,
    alone: { runs: 2, stepsPerRun: 12 },
    together: { runs: 100, stepsPerRun: 7 },
    burst: { runs: 16, burstsPerRepeat: 1 },
    history: { steps: 12 },
  };
}

/** Bars of the design (`4-runs`, `7-bench`), on two cores with the embedded server. */
export const limits = {
  addedMsPerStep: 50,
  stepsPerSecond: 45,
  burstMs: 500,
  historyGrowth: 1.1,
} as const;
