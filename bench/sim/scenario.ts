/** What is simulated: engines, agents, how long. The scenarios themselves are in scenarios.ts. */
import type { EngineConfig } from '../../testkit/sim-engine/core/engine-config.ts';
import type { Load } from './workload.ts';

export interface Scenario {
  readonly name: string;
  /** One line for people. */
  readonly about: string;
  /** One entry a replica: what differs from the default engine. */
  readonly replicas: readonly Partial<EngineConfig>[];
  readonly loads: readonly Load[];
  /** Not measured, so that caches and queues have filled. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** Why the default arm is behind the best one here, where that has been found out. */
  readonly knownLoss?: string;
}
