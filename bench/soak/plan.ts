/** How many turns, by whom, and how often parts are restarted meanwhile. Pure. */
import type { AgentShape } from '../operate/agent-plan.ts';
import type { MemberKind } from '../operate/cluster-plan.ts';

export interface SoakPlan {
  readonly seed: number;
  /** Of durable runs and of agents with loops of their own together. */
  readonly turns: number;
  /** Bounds of the share of turns that durable runs take; who is ahead waits. */
  readonly durableShare: { readonly least: number; readonly most: number };
  readonly clients: number;
  readonly agents: number;
  readonly shape: AgentShape;
  readonly counts: Readonly<Record<MemberKind, number>>;
  /** Milliseconds between a part's return and the next one's end. */
  readonly restartGapMs: number;
  /** However fast the turns go, so many restarts there are. */
  readonly fewestRestarts: number;
  /** false: they live too short for it to mean anything. */
  readonly measuresMemory: boolean;
  readonly sampleEveryMs: number;
  /**
   * So many more open files and sockets in the last quarter are no leak: a pool of connections keeps as many as
   * were ever at work at once, and a short soak may be over before it has them.
   */
  readonly openMore: number;
}

/** One of each kind is never restarted, so that its memory can be told; see survivors.ts. */
const counts = { scheduler: 2, proxy: 2, worker: 2, 'mcp-server': 2 } as const;

const full: SoakPlan = {
  seed: 1,
  turns: 100_000,
  durableShare: { least: 0.05, most: 0.08 },
  clients: 20,
  agents: 32,
  shape: { fewestTurns: 3, mostTurns: 9, slowestToolMs: 10 },
  counts,
  restartGapMs: 2_000,
  fewestRestarts: 24,
  measuresMemory: true,
  sampleEveryMs: 4_000,
  openMore: 8,
};

export function planOf(quick: boolean): SoakPlan {
  if (!quick) return full;
  const clients = 9;
  return {
    ...full,
    turns: 2_000,
    clients,
    restartGapMs: 200,
    fewestRestarts: 4,
    measuresMemory: false,
    sampleEveryMs: 500,
    // Of each run at once a connection to every proxy and one to the tool server.
    openMore: clients * (counts.proxy + 1),
  };
}

export const limits = {
  /** Median of the last quarter over that of the second. */
  memoryGrowth: 1.1,
  /** The same of open files and sockets, where that is more than the plan's `openMore`. */
  openGrowth: 1.1,
  bytesMoreKiB: 64,
} as const;

/**
 * Which quarter is under way, from the second on: that begins when the survivors are left alone, and the last
 * three have three quarters of the turns.
 * @param since turns since then.
 */
export function quarterOf(since: number, turns: number): number {
  return Math.min(4, 2 + Math.floor((4 * since) / turns));
}

/** So many samples there are at least, however fast the turns go. */
export const fewestSamples = 30;

/** Turns of the last three quarters. */
export function measuredTurns({ turns }: SoakPlan): number {
  return Math.ceil((3 * turns) / 4);
}
