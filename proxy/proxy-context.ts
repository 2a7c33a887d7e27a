/** What the request paths of one proxy share. */
import type { Logger } from 'pino';
import type { Agent } from 'undici';
import type { TurnId } from '../contracts/ids.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { RunMemory } from './identity/run-memory.ts';
import type { ProxyLimits } from './limits.ts';
import type { LinkClient } from './link/link-client.ts';
import type { LiveTurns } from './link/live-turns.ts';
import type { ReplicaPool } from './link/replica-pool.ts';
import type { RunRegistry } from './link/run-registry.ts';
import type { ProxyMetrics } from './metrics.ts';
import type { RateLimiter } from './rate-limits/rate-limiter.ts';

export interface ProxyContext {
  readonly link: LinkClient;
  readonly turns: LiveTurns;
  readonly runs: RunRegistry;
  readonly pool: ReplicaPool;
  readonly memory: RunMemory;
  readonly limiter: RateLimiter;
  readonly agent: Agent;
  readonly metrics: ProxyMetrics;
  readonly logger: Logger;
  /** null: nothing is traced. */
  readonly telemetry: Telemetry | null;
  readonly limits: ProxyLimits;
  /** Where the replicas' keys are. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly nextTurnId: () => TurnId;
}
