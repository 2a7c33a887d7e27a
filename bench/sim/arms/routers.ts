/**
 * Routers that send at once: round robin, sticky sessions, and a consistent hash ring over run ids.
 */
import { hashText } from '../../../testkit/sim-engine/core/random.ts';
import type { ArmKind } from './arm.ts';
import { sendAtOnce, smallest } from './send-at-once.ts';

export const roundRobin: ArmKind = {
  name: 'round-robin',
  about: 'each turn to the next replica',
  create({ replicas }) {
    let turns = 0;
    return sendAtOnce(replicas, { choose: () => turns++ % replicas });
  },
};

export const sticky: ArmKind = {
  name: 'sticky',
  about: 'a run stays where its first turn went, which was the replica with the fewest runs',
  create({ replicas }) {
    const home = new Map<string, number>();
    const runs = Array.from({ length: replicas }, () => 0);
    return sendAtOnce(replicas, {
      choose(turn) {
        const known = home.get(turn.run);
        if (known !== undefined) return known;
        const replica = smallest(runs);
        runs[replica] = (runs[replica] ?? 0) + 1;
        home.set(turn.run, replica);
        return replica;
      },
      runEnded(run) {
        const replica = home.get(run);
        if (replica === undefined) return;
        home.delete(run);
        runs[replica] = (runs[replica] ?? 0) - 1;
      },
    });
  },
};

const pointsPerReplica = 160;

export const consistentHash: ArmKind = {
  name: 'consistent-hash',
  about: 'a ring of 160 points a replica; a run goes to the next point after its hash',
  create({ replicas }) {
    const ring = Array.from({ length: replicas }, (_, replica) =>
      Array.from({ length: pointsPerReplica }, (_point, point) => ({
        at: hashText(`replica ${replica} point ${point}`),
        replica,
      })),
    )
      .flat()
      .toSorted((a, b) => a.at - b.at || a.replica - b.replica);
    return sendAtOnce(replicas, {
      choose(turn) {
        const at = hashText(turn.run);
        const next = ring.find((point) => point.at >= at) ?? ring[0];
        return next?.replica ?? 0;
      },
    });
  },
};
