/** Keeps what happened during a simulation, for measure.ts. All times are virtual, in ms. */
import type { ServiceClass } from '../../contracts/service-class.ts';

export interface TurnRecord {
  readonly class: ServiceClass;
  readonly caller: string;
  readonly number: number;
  readonly arrivedAtMs: number;
  /** null: held until the end of the simulation. */
  admittedAtMs: number | null;
  firstByteAtMs: number | null;
  finishedAtMs: number | null;
  promptTokens: number;
  outputTokens: number;
  cachedTokens: number;
  replica: number | null;
}

export interface RunRecord {
  readonly class: ServiceClass;
  readonly caller: string;
  readonly startedAtMs: number;
  endedAtMs: number | null;
  failed: boolean;
}

export interface Recording {
  readonly turns: TurnRecord[];
  readonly runs: RunRecord[];
  readonly startMs: number;
  readonly endMs: number;
  /** During the window, over all replicas. */
  readonly preemptions: number;
}
