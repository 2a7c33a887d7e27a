/** An arm: one way from the load generator to the engine, and how to bring it up. */
import type { Progress } from '../../../cli/setup/setup-fault.ts';
import type { Target } from '../load-protocol.ts';
import type { RunningProcess } from '../processes.ts';

export interface ArmSite {
  readonly engineUrl: string;
  /** For logs and configurations; gone after the run. */
  readonly workDir: string;
  /** Holds `tools/`, where rivals are installed once. */
  readonly toolsDir: string;
  /** Without any setting of fermata. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: Progress;
}

export interface RunningArm {
  readonly name: ArmName;
  readonly target: Target;
  /** All of them count as the gateway; none: calls go to the engine itself. */
  readonly processes: readonly RunningProcess[];
  /** Exact version of what is measured; null: this checkout, or no gateway. */
  readonly version: string | null;
  close(): Promise<void>;
}

export const armNames = [
  'direct',
  'pass-through',
  'fermata',
  'fermata-separate',
  'litellm',
  'portkey',
  'sglang-router',
] as const;
export type ArmName = (typeof armNames)[number];

/** Resolves when it has answered a request. @throws SetupFault with one line when it cannot be had. */
export type StartArm = (site: ArmSite) => Promise<RunningArm>;
