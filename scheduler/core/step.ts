/**
 * The scheduler's decisions as one deterministic function. The same events from the same start give the
 * same state and the same effects. Everything that may be admitted after an event is admitted in that step.
 */
import type { TurnId } from '../../contracts/ids.ts';
import { advanceClock, ticked } from './clock.ts';
import { dispatch } from './dispatch.ts';
import type { Effect, SchedulerEvent } from './events.ts';
import { poolChanged, replicaProbed, sweepReplicas } from './pool.ts';
import { proxyLost, proxyResynced, tookOver } from './proxy-events.ts';
import type { SchedulerState } from './state.ts';
import {
  runEnded,
  turnAbandoned,
  turnArrived,
  turnFinished,
  turnsProgressed,
  turnStarted,
} from './turn-events.ts';
import { dropHeldTurn, reject } from './turns.ts';

/** Applies one event to `state`, in place, and returns what is to be done about it, in order. */
export function step(state: SchedulerState, event: SchedulerEvent): Effect[] {
  const effects: Effect[] = [];
  advanceClock(state, event.atMs);
  apply(state, event, effects);
  sweepReplicas(state);
  dispatch(state, effects);
  if (event.type === 'turnArrived') rejectOverflow(state, event.spec.turn, effects);
  return effects;
}

function apply(state: SchedulerState, event: SchedulerEvent, effects: Effect[]): void {
  switch (event.type) {
    case 'turnArrived':
      turnArrived(state, event, effects);
      return;
    case 'turnAbandoned':
      turnAbandoned(state, event, effects);
      return;
    case 'turnStarted':
      turnStarted(state, event, effects);
      return;
    case 'turnsProgressed':
      turnsProgressed(state, event);
      return;
    case 'turnFinished':
      turnFinished(state, event, effects);
      return;
    case 'runEnded':
      runEnded(state, event, effects);
      return;
    case 'proxyResynced':
      proxyResynced(state, event, effects);
      return;
    case 'proxyLost':
      proxyLost(state, event, effects);
      return;
    case 'replicaProbed':
      replicaProbed(state, event, effects);
      return;
    case 'poolChanged':
      poolChanged(state, event, effects);
      return;
    case 'tookOver':
      tookOver(state, event);
      return;
    case 'ticked':
      ticked(state, effects);
      return;
    default:
      event satisfies never;
  }
}

/** More held turns than the policy allows: the one that came last is refused, those who wait keep waiting. */
function rejectOverflow(state: SchedulerState, arrived: TurnId, effects: Effect[]): void {
  const turn = state.turns.get(arrived);
  if (state.heldTurns <= state.policy.maxHeld || turn === undefined || turn.replica !== null) return;
  dropHeldTurn(state, turn);
  reject(effects, turn.proxy, arrived, 'overloaded');
}
