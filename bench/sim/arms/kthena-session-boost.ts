/**
 * Kthena's boosted-session tier, after what its router publishes (volcano-sh/kthena, `session_boost_queue.go`,
 * the session boost guide and proposal, `least_request.go`), with its defaults: one queue; a turn of a session
 * among the 4,096 that completed a request last goes before all others, the most recently completed one first;
 * the rest by arrival. A turn leaves the queue when fewer than 16 turns a replica are in flight and some
 * replica reports nothing waiting. No grace period, as by default. Placement: its least-request score (running
 * + 100 × waiting, as a share of the largest) and its prefix score, equally weighted.
 *
 * Assumed: engines are looked at once a second; the prefix is matched in blocks of 1 KiB of text. It knows no
 * service classes.
 */
import type { ArmKind } from './arm.ts';
import { highest, holdTurns, type ReplicaView } from './held-queue.ts';
import { PrefixMap } from './prefix-map.ts';

const inFlightPerReplica = 16;
const maxSessions = 4_096;
const waitingWeight = 100;
const prefixBlocks = 65_536;
const probeIntervalMs = 1_000;

export const kthenaSessionBoost: ArmKind = {
  name: 'kthena-session-boost',
  about: "recently completed sessions first (Kthena's session boost, re-implemented)",
  create({ replicas }) {
    const prefixes = new PrefixMap(replicas, prefixBlocks);
    const all = Array.from({ length: replicas }, (_, replica) => replica);
    /** When the last turn of a session completed; least recent first. */
    const completedAtMs = new Map<string, number>();
    return holdTurns(replicas, {
      probeIntervalMs,
      open: (views) =>
        views.reduce((sum, { inFlight }) => sum + inFlight, 0) < inFlightPerReplica * replicas &&
        views.some(({ probe }) => probe !== null && probe.waiting === 0),
      // Held turns stand in order of arrival, and the first of equal scores is taken.
      next: (held) => highest(held, ({ run }) => completedAtMs.get(run) ?? -1),
      place(turn, views) {
        const most = Math.max(...views.map(loadOf));
        const replica = highest(all, (candidate) => {
          const view = views[candidate];
          const load = view === undefined ? 0 : loadOf(view);
          const leastRequest = most === 0 ? 1 : (most - load) / most;
          return leastRequest + prefixes.share(turn.prefix, candidate);
        });
        prefixes.remember(turn.prefix, replica ?? 0);
        return replica ?? 0;
      },
      finished({ run }, _end, atMs) {
        completedAtMs.delete(run);
        completedAtMs.set(run, atMs);
        for (const session of completedAtMs.keys()) {
          if (completedAtMs.size <= maxSessions) break;
          completedAtMs.delete(session);
        }
      },
    });
  },
};

function loadOf({ probe, inFlight }: ReplicaView): number {
  return inFlight + waitingWeight * (probe?.waiting ?? 0);
}
