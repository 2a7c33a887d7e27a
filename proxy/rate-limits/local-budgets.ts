/** The budgets of callers in this process, bounded in number and age. Pure: time is handed in. */
import type { RateLimits } from '../../contracts/config-file.ts';
import type { Caller } from '../../contracts/ids.ts';
import {
  adjust,
  emptyBudget,
  maxUsedMinutes,
  minuteMs,
  take,
  type Budget,
  type Request,
  type Verdict,
} from './budget.ts';

export class LocalBudgets {
  // Insertion order is order of activity: each activity inserts anew.
  readonly #budgets = new Map<Caller, Budget>();
  readonly #maxCallers: number;

  /** @param maxCallers above it the caller that has been idle longest is forgotten, and begins anew. */
  constructor(maxCallers: number) {
    this.#maxCallers = maxCallers;
  }

  get size(): number {
    return this.#budgets.size;
  }

  take(caller: Caller, limits: RateLimits, request: Request, nowMs: number): Verdict {
    return take(this.#touch(caller, nowMs), limits, request, nowMs);
  }

  /** Puts right what a turn took, up or down. */
  adjust(caller: Caller, limits: RateLimits, inputTokens: number, outputTokens: number, nowMs: number): void {
    adjust(this.#touch(caller, nowMs), limits, inputTokens, outputTokens, nowMs);
  }

  /** Gives back a whole request that was refused elsewhere. */
  undo(caller: Caller, limits: RateLimits, request: Request, nowMs: number): void {
    if (!this.#budgets.has(caller)) return;
    const budget = this.#touch(caller, nowMs);
    adjust(budget, limits, -request.promptTokens, 0, nowMs);
    budget.used.requestsPerMinute = Math.max(0, budget.used.requestsPerMinute - 1);
  }

  /** Forgets budgets that have recovered, whatever was used of them. */
  sweep(nowMs: number): void {
    for (const [caller, budget] of this.#budgets) {
      if (nowMs - budget.atMs < maxUsedMinutes * minuteMs) return;
      this.#budgets.delete(caller);
    }
  }

  #touch(caller: Caller, nowMs: number): Budget {
    const known = this.#budgets.get(caller);
    if (known !== undefined) this.#budgets.delete(caller);
    const budget = known ?? emptyBudget(nowMs);
    this.#budgets.set(caller, budget);
    const [idlest] = this.#budgets.keys();
    if (this.#budgets.size > this.#maxCallers && idlest !== undefined) this.#budgets.delete(idlest);
    return budget;
  }
}
