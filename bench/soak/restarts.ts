/** Restarts parts of a cluster all the time, one after the other, while its survivors go on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { memberKinds, type MemberKind } from '../operate/cluster-plan.ts';
import { ownRoot, type Cluster } from '../operate/cluster.ts';
import type { Member } from '../operate/member.ts';
import { activeScheduler } from '../operate/scheduler-role.ts';

export interface Restarts {
  /** Those that are left alone from now on: one of each kind, the scheduler that decides among them. */
  settle(): Promise<readonly Member[]>;
  /** How often a part has come back. */
  readonly count: () => number;
  /** @throws what kept a part from coming back. */
  check(): void;
  /** Resolves when the part that is away is back. @throws what kept one from coming back. */
  stop(): Promise<void>;
}

/** Every third is asked to stop, as a deploy does it; the others are killed. */
const stopEvery = 3;
/** While nobody is settled, the scheduler that decides dies too, and the other one takes over. */
export function startRestarts(cluster: Cluster, gapMs: number): Restarts {
  let survivors: readonly Member[] | null = null;
  let wanted: ((survivors: readonly Member[]) => void) | null = null;
  const stopping = new AbortController();
  let count = 0;
  const settleIfWanted = async (): Promise<void> => {
    if (wanted === null) return;
    survivors ??= await chooseSurvivors(cluster);
    wanted(survivors);
    wanted = null;
  };
  const work = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await settleIfWanted();
      const victim = await nextVictim(cluster, survivors, count);
      await (count % stopEvery === stopEvery - 1 ? victim.stop() : victim.kill());
      await victim.start(ownRoot);
      count += 1;
      await sleep(gapMs);
    }
    await settleIfWanted();
  };
  const done = work();
  let broken: Error | null = null;
  done.catch((error: unknown) => {
    broken = error instanceof Error ? error : new Error(String(error));
  });
  return {
    settle: async () =>
      await Promise.race([
        new Promise<readonly Member[]>((resolve) => {
          wanted = resolve;
        }),
        done.then(() => survivors ?? []),
      ]),
    count: () => count,
    check() {
      if (broken !== null) throw broken;
    },
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

async function chooseSurvivors(cluster: Cluster): Promise<readonly Member[]> {
  const active = await activeScheduler(cluster);
  return memberKinds.map((kind) => (kind === 'scheduler' ? active : firstOf(cluster, kind)));
}

async function nextVictim(
  cluster: Cluster,
  survivors: readonly Member[] | null,
  count: number,
): Promise<Member> {
  const kind = memberKinds[count % memberKinds.length] ?? 'proxy';
  const others = cluster.of(kind).filter((member) => survivors?.includes(member) !== true);
  if (survivors === null && kind === 'scheduler') return await activeScheduler(cluster);
  // The first of each kind is to survive, and is not restarted before either: it is to be warm by then.
  const victim = others.at(-1);
  if (victim === undefined) throw new RangeError(`there is no second ${kind}`);
  return victim;
}

function firstOf(cluster: Cluster, kind: MemberKind): Member {
  const [first] = cluster.of(kind);
  if (first === undefined) throw new RangeError(`there is no ${kind}`);
  return first;
}
