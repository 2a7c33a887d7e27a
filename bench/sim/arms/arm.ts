/**
 * What is compared: something that says when a turn goes, and to which replica. The loop tells an arm what
 * happens and the arm answers with the turns that go now. An arm knows what a proxy or router in its place
 * would know; it never sees inside an engine.
 */
import type { ServiceClass } from '../../../contracts/service-class.ts';

export interface ArmTurn {
  readonly id: string;
  readonly run: string;
  readonly class: ServiceClass;
  readonly caller: string;
  /** 0 for the first turn of its run. */
  readonly number: number;
  /** An estimate, as from the size of the body. */
  readonly promptTokens: number;
  /** Hashes in blocks of 1 KiB of text, oldest first. */
  readonly prefix: readonly string[];
}

export interface TurnEnd {
  readonly outcome: 'paused' | 'done' | 'refused';
  /** As the engine counted them. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly toolName: string | null;
}

/** What an engine publishes about itself. */
export interface Probe {
  /** Place of the replica in the pool. */
  readonly replica: number;
  readonly running: number;
  readonly waiting: number;
  /** Used share of its KV memory, 0 to 1. */
  readonly cacheUsage: number;
  readonly capacityTokens: number;
  /** The body of its `/metrics`. */
  readonly metrics: () => string;
}

export interface Admission {
  readonly turn: string;
  readonly replica: number;
}

/** Every report returns the turns that go now, in order; times are in ms and never go back. */
export interface Arm {
  /** How often it looks at the engines. */
  readonly probeIntervalMs: number;
  arrived(turn: ArmTurn, atMs: number): readonly Admission[];
  /** The first byte of the reply. */
  started(turn: string, atMs: number): readonly Admission[];
  finished(turn: string, end: TurnEnd, atMs: number): readonly Admission[];
  /** The client says that the run is over; its last turn has been reported. */
  runEnded(run: string, atMs: number): readonly Admission[];
  /** Every replica at one time; once before anything else. */
  probed(probes: readonly Probe[], atMs: number): readonly Admission[];
  /** Once a second. */
  ticked(atMs: number): readonly Admission[];
}

export interface ArmOptions {
  readonly replicas: number;
  readonly seed: number;
}

export interface ArmKind {
  readonly name: string;
  /** One line: what it is, and whose. */
  readonly about: string;
  create(options: ArmOptions): Arm;
}
