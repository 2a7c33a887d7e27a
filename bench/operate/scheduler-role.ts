/** Which of the schedulers decides, as they tell it themselves. */
import { setTimeout as sleep } from 'node:timers/promises';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import type { Cluster } from './cluster.ts';
import type { Member } from './member.ts';

const limitMs = 60_000;
const pollMs = 100;
const answerMs = 5_000;

/** @throws Error when none decides for a minute. */
export async function activeScheduler(cluster: Pick<Cluster, 'of'>): Promise<Member> {
  const deadlineMs = Date.now() + limitMs;
  for (;;) {
    for (const member of cluster.of('scheduler')) if (member.up && (await decides(member.url))) return member;
    if (Date.now() > deadlineMs) throw new Error(`no scheduler decides for ${limitMs / 1_000} s`);
    await sleep(pollMs);
  }
}

async function decides(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(answerMs) });
    const { lease } = schedulerStatusSchema.parse(await response.json());
    return lease === undefined || lease.role === 'active';
  } catch {
    return false;
  }
}
