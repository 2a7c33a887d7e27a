/** Keeps durable runs and agents in their shares of all turns: whoever is ahead waits. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SoakPlan } from './plan.ts';

export interface TurnCounts {
  readonly durable: number;
  readonly agents: number;
}

const pollMs = 50;
/** So many turns one side may be ahead at the start, when shares say nothing yet. */
const headStart = { durable: 60, agents: 600 } as const;

export function isDurableAhead({ durable, agents }: TurnCounts, { durableShare }: SoakPlan): boolean {
  return durable > durableShare.most * (durable + agents) + headStart.durable;
}

export function areAgentsAhead({ durable, agents }: TurnCounts, { durableShare }: SoakPlan): boolean {
  return durable + headStart.durable < durableShare.least * (durable + agents - headStart.agents);
}

export interface Pace {
  readonly runs: () => Promise<void>;
  readonly turns: () => Promise<void>;
  /** Nobody waits any more. */
  release(): void;
}

export function keepPace(plan: SoakPlan, counts: () => TurnCounts): Pace {
  const released = new AbortController();
  const waitWhile = async (isAhead: (now: TurnCounts) => boolean): Promise<void> => {
    while (!released.signal.aborted && isAhead(counts())) await sleep(pollMs);
  };
  return {
    runs: async () => await waitWhile((now) => isDurableAhead(now, plan)),
    turns: async () => await waitWhile((now) => areAgentsAhead(now, plan)),
    release() {
      released.abort();
    },
  };
}
