/** Kills the processes of a cluster in turn, with kill -9, and starts each again at its place, under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import type { RunningAgents } from './agents.ts';
import { memberKinds } from './cluster-plan.ts';
import { ownRoot, type Cluster } from './cluster.ts';
import type { Member } from './member.ts';
import type { OperatePlan } from './plan.ts';
import { activeScheduler } from './scheduler-role.ts';

/** What one kill did to those that went on. */
export interface KillSeen {
  readonly member: string;
  /** Of the two schedulers: whether it decided; null: it is none. */
  readonly decided: boolean | null;
  /** From the kill until it was ready again. */
  readonly downMs: number;
  /** Longest time without an answer to any agent, from the kill until load had gone on for a while. */
  readonly stillMs: number;
}

const pollMs = 20;
/** So long nothing at all may be answered before the bench gives up. */
const standstillLimitMs = 120_000;

export async function killInTurn(
  cluster: Cluster,
  agents: RunningAgents,
  plan: OperatePlan,
  progress: Progress,
): Promise<readonly KillSeen[]> {
  const seen: KillSeen[] = [];
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const pick of await victims(cluster, plan)) {
      await untilAnswered(agents, plan.answersBetween);
      const member = await pick();
      const decided = member.kind === 'scheduler' ? (await activeScheduler(cluster)) === member : null;
      progress(
        `round ${round} of ${plan.rounds}: kill -9 ${member.name}${decided === true ? ', which decides' : ''}`,
      );
      const watch = watchStillness(agents);
      const killedMs = Date.now();
      await member.kill();
      await member.start(ownRoot);
      const downMs = Date.now() - killedMs;
      await untilAnswered(agents, plan.answersBetween);
      seen.push({ member: member.name, decided, downMs, stillMs: watch.stop() });
    }
  }
  return seen;
}

/** Chosen when its turn comes: which scheduler decides changes on the way. */
async function victims(cluster: Cluster, plan: OperatePlan): Promise<readonly (() => Promise<Member>)[]> {
  if (!plan.oneOfEachKind) return cluster.members.map((member) => async () => await Promise.resolve(member));
  return memberKinds.map((kind) => async () => {
    const member = kind === 'scheduler' ? await activeScheduler(cluster) : cluster.of(kind)[0];
    if (member === undefined) throw new RangeError(`there is no ${kind}`);
    return member;
  });
}

/** @throws Error when nothing is answered for two minutes. */
export async function untilAnswered({ tally }: RunningAgents, count: number): Promise<void> {
  const wanted = tally.turnsAnswered + count;
  let deadlineMs = Date.now() + standstillLimitMs;
  let before = tally.turnsAnswered;
  while (tally.turnsAnswered < wanted) {
    if (tally.turnsAnswered > before) deadlineMs = Date.now() + standstillLimitMs;
    before = tally.turnsAnswered;
    if (Date.now() > deadlineMs) throw new Error('no agent was answered for two minutes');
    await sleep(pollMs);
  }
}

/** Looks often: an answer that comes between two looks ends a stillness all the same, by its own time. */
export function watchStillness({ tally }: RunningAgents): { stop(): number } {
  let lastMs = tally.lastAnswerMs;
  let longestMs = 0;
  const look = (): void => {
    longestMs = Math.max(longestMs, tally.lastAnswerMs - lastMs, Date.now() - tally.lastAnswerMs);
    lastMs = tally.lastAnswerMs;
  };
  const timer = setInterval(look, pollMs);
  return {
    stop() {
      clearInterval(timer);
      look();
      return longestMs;
    },
  };
}
