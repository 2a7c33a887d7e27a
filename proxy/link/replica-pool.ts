/** The pool, and the rate limits of callers, as the scheduler last told them. Pure. Empty until the first message. */
import { everyCaller, type Api, type RateLimits } from '../../contracts/config-file.ts';
import type { Caller, ReplicaId } from '../../contracts/ids.ts';
import type { PoolReplica, SchedulerMessage } from '../../contracts/link-protocol.ts';

type PoolMessage = Extract<SchedulerMessage, { type: 'pool' }>;

export class ReplicaPool {
  #replicas = new Map<ReplicaId, PoolReplica>();
  #streamIdleMs = 300_000;
  #rateLimits: ReadonlyMap<string, RateLimits> = new Map();
  #known = false;
  readonly #waiting = new Set<() => void>();

  /** Whether the scheduler has told the pool at least once. */
  get known(): boolean {
    return this.#known;
  }

  /** Milliseconds without a byte after which an engine counts as failed. */
  get streamIdleMs(): number {
    return this.#streamIdleMs;
  }

  get replicas(): readonly PoolReplica[] {
    return [...this.#replicas.values()];
  }

  update(message: PoolMessage): void {
    this.#replicas = new Map(message.replicas.map((replica) => [replica.id, replica]));
    this.#streamIdleMs = message.streamIdleMs;
    this.#rateLimits = new Map(Object.entries(message.rateLimits));
    this.#known = true;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  get(id: ReplicaId): PoolReplica | null {
    return this.#replicas.get(id) ?? null;
  }

  /** The caller's own limits, else those for everyone; null: none, which costs a turn nothing. */
  rateLimitsOf(caller: Caller): RateLimits | null {
    if (this.#rateLimits.size === 0) return null;
    const limits = this.#rateLimits.get(caller) ?? this.#rateLimits.get(everyCaller);
    return limits === undefined || Object.keys(limits).length === 0 ? null : limits;
  }

  /** Whether a healthy replica other than `id` serves this model through this API. */
  hasOther(id: ReplicaId, model: string | null, api: Api): boolean {
    return this.replicas.some(
      (replica) =>
        replica.id !== id &&
        replica.healthy &&
        replica.apis.includes(api) &&
        (model === null || replica.models.includes(model)),
    );
  }

  /** Resolves once the pool is known, or after `timeoutMs`: then false. */
  async whenKnown(timeoutMs: number): Promise<boolean> {
    if (this.#known) return true;
    return await new Promise((resolve) => {
      const known = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(known);
        resolve(false);
      }, timeoutMs);
      this.#waiting.add(known);
    });
  }
}
