/**
 * Rate limits of callers: takes what a turn needs when it arrives, and puts it right when it has ended.
 * This proxy always keeps its own count; with Redis, both must have room. So a Redis that is away, slow or
 * empty after a restart loosens the limits to those of each proxy, never further.
 */
import type { RateLimits } from '../../contracts/config-file.ts';
import type { Caller } from '../../contracts/ids.ts';
import type { LimitName, Request, Verdict } from './budget.ts';
import { limitHeaders } from './limit-headers.ts';
import { LocalBudgets } from './local-budgets.ts';
import { limitedFault, tooLargeFault } from './refusals.ts';
import type { SharedBudgets } from './shared-budgets.ts';

export interface RateLimiterOptions {
  /** Callers counted at once. */
  readonly maxCallers: number;
  /** null: this proxy counts alone. */
  readonly shared: SharedBudgets | null;
  readonly nowMs: () => number;
  /** A request was refused. */
  readonly onRefused: (limit: LimitName) => void;
}

/** What a turn came to. */
export interface Spent {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What a turn has taken of its caller's limits. */
export interface Charge {
  /** For the client: name, value, … */
  readonly headers: readonly string[];
  /** What the turn's end is known to have cost; null: no engine has worked on it. The last word counts. */
  note(spent: Spent | null): void;
  /** Puts the budgets right by what was noted; without a note, input tokens are given back. Only once. */
  settle(): void;
}

export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #local: LocalBudgets;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.#local = new LocalBudgets(options.maxCallers);
  }

  get callers(): number {
    return this.#local.size;
  }

  /** null: no Redis is set. */
  get redis(): { readonly address: string; readonly up: boolean } | null {
    return this.#options.shared;
  }

  /**
   * Takes what a turn needs of all limits, or nothing.
   * @param promptTokens an estimate.
   * @throws Fault `rate_limited`, or `invalid_request` for a request that no wait would let through.
   */
  async take(caller: Caller, limits: RateLimits, promptTokens: number): Promise<Charge> {
    const { shared, nowMs } = this.#options;
    const request = { promptTokens };
    const inputLimit = limits.inputTokensPerMinute;
    if (inputLimit !== undefined && promptTokens > inputLimit) {
      this.#options.onRefused('inputTokensPerMinute');
      throw tooLargeFault(caller, inputLimit, promptTokens);
    }
    const own = this.#local.take(caller, limits, request, nowMs());
    this.#refuseOn(own, caller, limits);
    const common = (await shared?.take(caller, limits, request)) ?? null;
    if (common !== null && common.refusedBy !== null) this.#local.undo(caller, limits, request, nowMs());
    if (common !== null) this.#refuseOn(common, caller, limits);
    const isShared = common !== null;
    return this.#charge(caller, limits, request, isShared, limitHeaders(limits, (common ?? own).used));
  }

  sweep(nowMs: number): void {
    this.#local.sweep(nowMs);
  }

  async close(): Promise<void> {
    await this.#options.shared?.close();
  }

  #refuseOn(verdict: Verdict, caller: Caller, limits: RateLimits): void {
    if (verdict.refusedBy === null) return;
    this.#options.onRefused(verdict.refusedBy);
    throw limitedFault(caller, verdict.refusedBy, limits[verdict.refusedBy] ?? 0, verdict.waitMs);
  }

  #charge(
    caller: Caller,
    limits: RateLimits,
    request: Request,
    isShared: boolean,
    headers: readonly string[],
  ): Charge {
    let spent: Spent | null = null;
    let settled = false;
    return {
      headers,
      note: (cost) => {
        spent = cost;
      },
      settle: () => {
        if (settled) return;
        settled = true;
        const input = (spent?.promptTokens ?? 0) - request.promptTokens;
        const output = spent?.completionTokens ?? 0;
        if (input === 0 && output === 0) return;
        this.#local.adjust(caller, limits, input, output, this.#options.nowMs());
        // What Redis has not counted must not be given back there.
        if (isShared) this.#options.shared?.adjust(caller, limits, input, output);
      },
    };
  }
}
