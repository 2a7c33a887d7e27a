/** A run as `/api` tells it, for tests of what the page makes of it. */
import { zeroCounters } from '../../contracts/run.ts';
import type { Run } from '../../web/api/types.ts';

export function madeRun(part: Partial<Run> = {}): Run {
  return {
    handle: 'run_0000000000000000000000',
    status: 'Running',
    phase: 'model turn 1',
    task: 'Look at herons.',
    model: null,
    class: 'interactive',
    caller: 'ann',
    root: 'run_0000000000000000000000',
    parent: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: null,
    counters: zeroCounters,
    pendingApprovals: [],
    budget: null,
    reason: null,
    ...part,
  };
}
