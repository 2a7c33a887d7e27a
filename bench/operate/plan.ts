/** What is killed, how often, under which load. Pure. */
import type { AgentShape } from './agent-plan.ts';

export interface OperatePlan {
  readonly seed: number;
  /** How often each process is killed, all of them in turn. */
  readonly rounds: number;
  /** Only the first process of each kind is killed, and the scheduler that decides. */
  readonly oneOfEachKind: boolean;
  /** Clients that spawn and await durable runs, one after the other. */
  readonly clients: number;
  readonly agents: number;
  readonly shape: AgentShape;
  /** Answers that agents must have had between two kills, so that there is load on everything. */
  readonly answersBetween: number;
}

const full: OperatePlan = {
  seed: 1,
  rounds: 3,
  oneOfEachKind: false,
  clients: 10,
  agents: 12,
  shape: { fewestTurns: 3, mostTurns: 7, slowestToolMs: 300 },
  answersBetween: 60,
};

/** @param quick one kill of each kind and smaller load; the deploy and the bars stay. */
export function planOf(quick: boolean): OperatePlan {
  if (!quick) return full;
  return { ...full, rounds: 1, oneOfEachKind: true, clients: 5, agents: 6, answersBetween: 15 };
}
