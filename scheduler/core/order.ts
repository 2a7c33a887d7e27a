/**
 * The order of held turns (rule 4): class, resume before new, fairness between callers, arrival. Each
 * level of the queues compares by one of these functions; all are total orders.
 */
import type { CallerQueue, Strand, Turn } from './state.ts';

/** Lanes of a route, best first: 0 interactive resume, 1 interactive new, 2 batch resume, 3 batch new. */
export function laneRank(serviceClass: Turn['countsAs'], resumes: boolean): 0 | 1 | 2 | 3 {
  if (serviceClass === 'interactive') return resumes ? 0 : 1;
  return resumes ? 2 : 3;
}

export function isBatchRank(rank: number): boolean {
  return rank >= 2;
}

/** Arrival; a turn that comes back after its loss counts from its first try. */
export function turnBefore(a: Turn, b: Turn): boolean {
  if (a.arrivedAtMs !== b.arrivedAtMs) return a.arrivedAtMs < b.arrivedAtMs;
  return a.sequence < b.sequence;
}

export function strandBefore(a: Strand, b: Strand): boolean {
  const first = a.turns.first;
  const second = b.turns.first;
  return first !== undefined && second !== undefined && turnBefore(first, second);
}

export function callerQueueBefore(a: CallerQueue, b: CallerQueue): boolean {
  const difference = a.caller.share - b.caller.share;
  if (difference !== 0) return difference < 0;
  const first = a.strands.first;
  const second = b.strands.first;
  return first !== undefined && second !== undefined && strandBefore(first, second);
}

/** Orders the first turns of two lanes, which may belong to different routes. */
export function laneBefore(a: Candidate, b: Candidate): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  return callerQueueBefore(a.queue, b.queue);
}

/** The turn that goes first in its lane, with what it is compared by. */
export interface Candidate {
  readonly turn: Turn;
  readonly queue: CallerQueue;
  readonly rank: number;
  /** Its run is resident: it may go to one replica only. */
  readonly pinned: boolean;
}
