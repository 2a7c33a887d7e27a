/**
 * Which runs are resident where: a run is while a turn of it is in flight there, and while it is paused there
 * with its reservation unexpired. Brings the ledgers in line with a run after anything about it changed.
 */
import type { Context } from './ledger.ts';
import type { Replica, Residence, Run, SchedulerState } from './state.ts';

export function isResidentOn(run: Run, replica: Replica): boolean {
  return run.residences.some((residence) => residence.replica === replica);
}

/** Call after each change of a run's turns in flight, pause or reservation. */
export function settleResidences(state: SchedulerState, run: Run): void {
  const before = run.residences;
  const after = residencesOf(run);
  run.residences = after;
  for (const { replica, ...context } of before) {
    replica.ledger.remove(context);
    state.freed.add(replica);
  }
  for (const { replica, ...context } of after) replica.ledger.add(context);
}

function residencesOf(run: Run): readonly Residence[] {
  const largest = new Map<Replica, Context>();
  const count = (replica: Replica, context: Context): void => {
    const known = largest.get(replica);
    if (known === undefined || context.tokens > known.tokens) largest.set(replica, context);
  };
  for (const { replica, footprintTokens, spec } of run.inFlight) {
    if (replica !== null) count(replica, { tokens: footprintTokens, prefix: spec.prefix });
  }
  const paused = run.pausedContext !== null && (run.resident || run.inFlight.size > 0);
  if (paused && run.pausingOn !== null && run.pausedContext !== null) count(run.pausingOn, run.pausedContext);
  return [...largest].map(([replica, { tokens, prefix }]) => ({ replica, tokens, prefix }));
}
