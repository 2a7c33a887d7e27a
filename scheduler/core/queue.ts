/**
 * Puts held turns into the queues, takes them out, and moves them when what decides their place changes.
 * Keeps every level in order; decides nothing.
 */
import { Heap } from './heap.ts';
import { laneRank, strandBefore, turnBefore, isBatchRank, type Candidate } from './order.ts';
import { pruneRoute, routeFor, wakeRoute } from './routes.ts';
import type { CallerQueue, CallerState, Lane, Route, Run, SchedulerState, Strand, Turn } from './state.ts';

/** Puts a held turn where it stands; its route is looked at again in this step. */
export function enqueue(state: SchedulerState, turn: Turn): void {
  const { run, caller, spec, countsAs } = turn;
  const stored = spec.stored === undefined ? '' : `stored ${spec.stored.replica ?? ''}`;
  const key = `${countsAs} ${spec.api} ${stored} ${caller.id.length} ${caller.id} ${spec.model ?? ''}`;
  let strand = run?.strands?.get(key);
  if (strand === undefined) {
    strand = {
      key,
      run,
      caller,
      model: spec.model,
      api: spec.api,
      class: countsAs,
      stored: spec.stored,
      turns: new Heap<Turn>(turnBefore),
      queue: null,
      inQueue: null,
    };
    if (run !== null) (run.strands ??= new Map<string, Strand>()).set(key, strand);
  }
  turn.strand = strand;
  turn.inStrand = strand.turns.push(turn);
  if (strand.queue === null) attach(state, strand);
  else headChanged(strand);
  state.touched.add(laneOf(strand).route);
}

/** Takes a held turn out of the queues. */
export function dequeue(state: SchedulerState, turn: Turn): void {
  const { strand, inStrand } = turn;
  if (strand === null || inStrand === null) return;
  strand.turns.remove(inStrand);
  turn.strand = null;
  turn.inStrand = null;
  if (strand.turns.size > 0) {
    headChanged(strand);
    wakeRoute(state, laneOf(strand).route);
    return;
  }
  detach(state, strand);
  if (strand.run !== null) leaveRun(strand.run, strand);
}

function leaveRun(run: Run, strand: Strand): void {
  run.strands?.delete(strand.key);
  if (run.strands?.size === 0) run.strands = null;
}

/** Moves the strands of a run after it began or ceased to generate, moved home, or lost its residency. */
export function rerouteRun(state: SchedulerState, run: Run): void {
  for (const strand of run.strands?.values() ?? []) rerouteStrand(state, strand);
}

function rerouteStrand(state: SchedulerState, strand: Strand): void {
  const lane = laneFor(state, strand);
  if (strand.queue?.lane === lane) return;
  detach(state, strand);
  attach(state, strand);
}

/** Restores the order of callers after the share of one of them changed. */
export function callerMoved(state: SchedulerState, caller: CallerState): void {
  for (const queue of caller.queues) {
    if (queue.inLane !== null) queue.lane.queues.moved(queue.inLane);
    wakeRoute(state, queue.lane.route);
  }
}

/** The turn that goes first on a route, or undefined when none waits there. */
export function firstOf(route: Route, only: 'any' | 'batch' = 'any'): Candidate | undefined {
  for (const lane of route.lanes) {
    if (only === 'batch' && !isBatchRank(lane.rank)) continue;
    const queue = lane.queues.first;
    const turn = queue?.strands.first?.turns.first;
    if (queue === undefined || turn === undefined) continue;
    return { turn, queue, rank: lane.rank, pinned: route.pinnedTo !== null };
  }
  return undefined;
}

function laneFor(state: SchedulerState, strand: Strand): Lane {
  const resumes = strand.run !== null && strand.run.lastReplica !== null;
  return routeFor(state, strand).lanes[laneRank(strand.class, resumes)];
}

function laneOf(strand: Strand): Lane {
  if (strand.queue === null) throw new Error('a strand with turns stands in no lane');
  return strand.queue.lane;
}

function attach(state: SchedulerState, strand: Strand): void {
  const lane = laneFor(state, strand);
  const { caller } = strand;
  let queue = lane.byCaller.get(caller);
  if (queue === undefined) {
    queue = { caller, lane, strands: new Heap<Strand>(strandBefore), inLane: null };
    lane.byCaller.set(caller, queue);
    caller.queues.add(queue);
  }
  strand.queue = queue;
  strand.inQueue = queue.strands.push(strand);
  if (queue.inLane === null) queue.inLane = lane.queues.push(queue);
  else lane.queues.moved(queue.inLane);
  state.touched.add(lane.route);
}

function detach(state: SchedulerState, strand: Strand): void {
  const { queue, inQueue } = strand;
  if (queue === null || inQueue === null) return;
  queue.strands.remove(inQueue);
  strand.queue = null;
  strand.inQueue = null;
  if (queue.strands.size === 0) removeQueue(queue);
  else if (queue.inLane !== null) queue.lane.queues.moved(queue.inLane);
  wakeRoute(state, queue.lane.route);
  pruneRoute(state, queue.lane.route);
}

function removeQueue(queue: CallerQueue): void {
  if (queue.inLane !== null) queue.lane.queues.remove(queue.inLane);
  queue.inLane = null;
  queue.lane.byCaller.delete(queue.caller);
  queue.caller.queues.delete(queue);
}

function headChanged(strand: Strand): void {
  const { queue, inQueue } = strand;
  if (queue === null || inQueue === null) return;
  queue.strands.moved(inQueue);
  if (queue.inLane !== null) queue.lane.queues.moved(queue.inLane);
}
