/** How the pool stands, by events; live runs of agents with a loop of their own are read when they are shown. */
import { signal } from '@preact/signals';
import { get, wordsOf } from '../api/request.ts';
import type { Events, Pool, PoolNews } from '../api/types.ts';

export const pool = signal<PoolNews | null>(null);
export const poolFault = signal<string | null>(null);
/** `performance.now()` of the last news: how long turns are held goes on from there. */
export const toldAtMs = signal(0);
export const live = signal<Pool['runs']>([]);
export const policy = signal<Pool['policy'] | null>(null);

export function notePool({ pool: news, fault }: Events['pool']): void {
  poolFault.value = fault;
  if (news === null) return;
  pool.value = news;
  toldAtMs.value = performance.now();
}

export async function loadPool(): Promise<void> {
  try {
    const all = await get<Pool>('pool');
    live.value = all.runs;
    policy.value = all.policy;
    notePool({ pool: all, fault: null });
  } catch (error) {
    poolFault.value = wordsOf(error);
  }
}
