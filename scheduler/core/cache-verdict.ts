/**
 * What a finished turn says of its engine's cache: whether a resumed turn of a resident run found the context
 * that the run had left there, and what follows for the capacity. Any other turn only tells whether the
 * engine counts cached tokens at all.
 */
import { foundContext, noteHit, noteMiss } from './capacity.ts';
import type { Effect, TurnReport } from './events.ts';
import { someWaitFor } from './routes.ts';
import { prefixBlockTokens } from './limits.ts';
import type { SchedulerState, Turn } from './state.ts';

/**
 * Shorter contexts tell nothing: engines cache whole blocks and pages, and too little of the conversation is
 * hashed to know that the turn went on with it.
 */
const leastJudgedTokens = 512;
/** An engine with slots keeps a context token by token: one hashed block says that the turn went on with it. */
const leastJudgedOfSlots = prefixBlockTokens;

/** Call while the turn still counts among the residents. */
export function judgeCache(
  state: SchedulerState,
  effects: Effect[],
  turn: Turn,
  { outcome, usage, cachedTokens }: TurnReport,
): void {
  const { replica, leftTokens } = turn;
  if (replica === null || cachedTokens === undefined || usage === undefined) return;
  if (outcome !== 'paused' && outcome !== 'done') return;
  const { capacity, ledger } = replica;
  capacity.countsSeen = true;
  const least = capacity.reportedContexts === null ? leastJudgedTokens : leastJudgedOfSlots;
  if (leftTokens === null || leftTokens < least) return;
  const found = foundContext(leftTokens, usage.promptTokens, cachedTokens);
  effects.push({ type: 'recorded', record: { metric: 'resumed_context', replica: replica.id, found } });
  const changed = found
    ? noteHit(capacity, ledger, someWaitFor(replica))
    : noteMiss(capacity, ledger, state.nowMs);
  if (!changed) return;
  const reason = found ? 'hit' : 'miss';
  effects.push({ type: 'recorded', record: { metric: 'capacity_changed', replica: replica.id, reason } });
}
