/** What an admission rule answers; the rules themselves are in files of their own. */
import type { Replica, SchedulerState, Turn } from './state.ts';

/** Why a turn has no room: no place, the engine's own queue, no memory for its context. */
export type Refusal = 'places' | 'engine_queue' | 'memory';

export interface AdmissionRule {
  /** Most turns in flight at once; Infinity: not limited. */
  limit(replica: Replica): number;
  /** null: there is room. */
  refusal(state: SchedulerState, replica: Replica, turn: Turn): Refusal | null;
  /** How full the replica is, about 0 to 1, so that replicas compare. */
  fullness(replica: Replica): number;
}
