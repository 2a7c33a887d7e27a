/**
 * Arms without admission control: every turn goes as it comes, the engine queues. They differ in where.
 */
import type { Arm, ArmTurn } from './arm.ts';

export interface Chooser {
  /** The replica for a turn; `inFlight` counts turns by replica. */
  choose(turn: ArmTurn, inFlight: readonly number[]): number;
  runEnded?(run: string): void;
}

const nothing = [] as const;
const probeIntervalMs = 2_000;

export function sendAtOnce(replicas: number, chooser: Chooser): Arm {
  const inFlight = Array.from({ length: replicas }, () => 0);
  const replicaOf = new Map<string, number>();
  return {
    probeIntervalMs,
    arrived(turn) {
      const replica = chooser.choose(turn, inFlight);
      inFlight[replica] = (inFlight[replica] ?? 0) + 1;
      replicaOf.set(turn.id, replica);
      return [{ turn: turn.id, replica }];
    },
    started: () => nothing,
    finished(turn) {
      const replica = replicaOf.get(turn);
      if (replica === undefined) return nothing;
      replicaOf.delete(turn);
      inFlight[replica] = (inFlight[replica] ?? 0) - 1;
      return nothing;
    },
    runEnded(run) {
      chooser.runEnded?.(run);
      return nothing;
    },
    probed: () => nothing,
    ticked: () => nothing,
  };
}

/** The place of the smallest value; the first of equal ones. */
export function smallest(values: readonly number[]): number {
  let best = 0;
  for (let index = 1; index < values.length; index += 1) {
    if ((values[index] ?? 0) < (values[best] ?? 0)) best = index;
  }
  return best;
}
