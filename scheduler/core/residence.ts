/**
 * Which runs are resident where: a run is while a turn of it is in flight there, and while it is paused there
 * with its reservation unexpired. Brings the ledgers in line with a run after anything about it changed.
 */
import { keptApart } from './capacity.ts';
import type { Context } from './ledger.ts';
import { keptMs } from './pause-statistics.ts';
import { none, type Replica, type Residence, type Run, type SchedulerState } from './state.ts';

export function isResidentOn(run: Run, replica: Replica): boolean {
  return run.residences.some((residence) => residence.replica === replica);
}

/** Call after each change of a run's turns in flight, pause or reservation. */
export function settleResidences(state: SchedulerState, run: Run): void {
  const before = run.residences;
  for (const { replica, tokens, prefix } of before) {
    replica.ledger.remove({ tokens, prefix });
    state.freed.add(replica);
  }
  const after: Residence[] = [];
  for (const [replica, context] of contextsOf(run)) {
    const earlier = before.find((residence) => residence.replica === replica);
    const sharedTokens = earlier?.sharedTokens ?? context.tokens - replica.ledger.addedTokens(context);
    const generating = run.inFlight.some((turn) => turn.replica === replica);
    after.push({ replica, ...context, generating, sharedTokens });
    replica.ledger.add(context);
  }
  run.residences = after.length === 0 ? none : after;
  for (const residence of before) moveInCache(state, run, residence, after);
  for (const residence of after) {
    if (!before.some(({ replica }) => replica === residence.replica)) enterCache(state, run, residence);
  }
}

/** Tells the model of the engine's cache what became of a residence. */
function moveInCache(state: SchedulerState, run: Run, before: Residence, after: readonly Residence[]): void {
  const { replica } = before;
  const now = after.find((residence) => residence.replica === replica);
  if (now === undefined) {
    if (before.generating) leaveCache(run, before, Number.NEGATIVE_INFINITY);
    else {
      replica.cacheOrder.release(run.id);
      replica.slotOrder.release(run.id);
    }
  } else if (now.generating || before.generating) enterCache(state, run, now);
}

function enterCache(state: SchedulerState, run: Run, residence: Residence): void {
  const { replica, generating } = residence;
  if (!generating) leaveCache(run, residence, state.nowMs + keptMs(state.pauseStatistics, run.toolNames));
  else {
    replica.cacheOrder.use(run.id, ownTokens(residence), memoryOf(replica));
    replica.slotOrder.use(run.id, 1, keptApart(replica.capacity));
  }
}

function leaveCache(run: Run, residence: Residence, keptUntilMs: number): void {
  const { replica } = residence;
  replica.cacheOrder.leave(run.id, ownTokens(residence), keptUntilMs, memoryOf(replica));
  replica.slotOrder.leave(run.id, 1, keptUntilMs, keptApart(replica.capacity));
}

function ownTokens({ tokens, sharedTokens }: Residence): number {
  return Math.max(0, tokens - sharedTokens);
}

/** Of an engine that does not report its memory nothing is modelled but what is in use. */
function memoryOf({ capacity }: Replica): number {
  return capacity.reportedTokens ?? 0;
}

/** At most one a replica: the largest. */
function contextsOf(run: Run): ReadonlyMap<Replica, Context> {
  const largest = new Map<Replica, Context>();
  for (const { replica, footprintTokens, spec } of run.inFlight) {
    if (replica !== null) keepLargest(largest, replica, { tokens: footprintTokens, prefix: spec.prefix });
  }
  const { pausingOn, pausedContext } = run;
  const paused = run.resident || run.inFlight.length > 0;
  if (paused && pausingOn !== null && pausedContext !== null) {
    keepLargest(largest, pausingOn, pausedContext);
  }
  return largest;
}

function keepLargest(largest: Map<Replica, Context>, replica: Replica, context: Context): void {
  const known = largest.get(replica);
  if (known === undefined || context.tokens > known.tokens) largest.set(replica, context);
}
