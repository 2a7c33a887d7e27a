/** Tells the core of time: once a second, and at the moment for which a resync makes admissions wait. */
import type { SchedulerState } from '../core/state.ts';

const tickEveryMs = 1_000;

export interface Ticker {
  /** Call after a resync: admissions that wait for other proxies go on in time, not with the next tick. */
  resynced(): void;
  stop(): void;
}

export function startTicker(
  state: Pick<SchedulerState, 'nowMs' | 'settledAtMs'>,
  onTick: () => void,
): Ticker {
  const ticks = setInterval(onTick, tickEveryMs);
  let settled: NodeJS.Timeout | undefined;
  return {
    resynced() {
      const leftMs = state.settledAtMs - state.nowMs;
      if (leftMs <= 0) return;
      clearTimeout(settled);
      settled = setTimeout(onTick, leftMs + 1);
    },
    stop() {
      clearInterval(ticks);
      clearTimeout(settled);
    },
  };
}
