/**
 * Base of the published policies that hold turns in a queue of their own: turns wait until the policy's gate
 * lets one through, its order says which, its placement says where. Looked at again whenever anything happens.
 */
import type { Admission, Arm, ArmTurn, Probe, TurnEnd } from './arm.ts';

export interface HeldTurn extends ArmTurn {
  readonly heldSinceMs: number;
}

/** What a policy can see of a replica: the last probe, and what it sent there itself. */
export interface ReplicaView {
  probe: Probe | null;
  inFlight: number;
}

export interface QueuePolicy {
  readonly probeIntervalMs: number;
  /** Whether one more turn may go now. */
  open(replicas: readonly ReplicaView[]): boolean;
  /** Which of `held` goes next; it is never empty. */
  next(held: readonly HeldTurn[], atMs: number): HeldTurn | undefined;
  place(turn: HeldTurn, replicas: readonly ReplicaView[]): number;
  finished?(turn: HeldTurn, end: TurnEnd, atMs: number): void;
  runEnded?(run: string): void;
}

export function holdTurns(replicas: number, policy: QueuePolicy): Arm {
  const views = Array.from({ length: replicas }, (): ReplicaView => ({ probe: null, inFlight: 0 }));
  const held = new Map<string, HeldTurn>();
  const flying = new Map<string, { readonly turn: HeldTurn; readonly view: ReplicaView }>();

  const dispatch = (atMs: number): Admission[] => {
    const admissions: Admission[] = [];
    while (held.size > 0 && policy.open(views)) {
      const turn = policy.next([...held.values()], atMs);
      if (turn === undefined) break;
      const replica = policy.place(turn, views);
      const view = views[replica];
      if (view === undefined) throw new Error(`there is no replica ${replica}`);
      held.delete(turn.id);
      view.inFlight += 1;
      flying.set(turn.id, { turn, view });
      admissions.push({ turn: turn.id, replica });
    }
    return admissions;
  };

  return {
    probeIntervalMs: policy.probeIntervalMs,
    arrived(turn, atMs) {
      held.set(turn.id, { ...turn, heldSinceMs: atMs });
      return dispatch(atMs);
    },
    started: () => [],
    finished(id, end, atMs) {
      const flight = flying.get(id);
      if (flight === undefined) return [];
      flying.delete(id);
      flight.view.inFlight -= 1;
      policy.finished?.(flight.turn, end, atMs);
      return dispatch(atMs);
    },
    runEnded(run) {
      policy.runEnded?.(run);
      return [];
    },
    probed(probes, atMs) {
      for (const probe of probes) {
        const view = views[probe.replica];
        if (view !== undefined) view.probe = probe;
      }
      return dispatch(atMs);
    },
    ticked: () => [],
  };
}

/** The item with the highest score; the first of equal ones. */
export function highest<T>(items: readonly T[], score: (item: T) => number): T | undefined {
  let best: T | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = score(item);
    if (value <= bestScore) continue;
    best = item;
    bestScore = value;
  }
  return best;
}
