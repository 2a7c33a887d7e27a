/** Runs as readers see them, made for tests. */
import type { Handle } from '../../contracts/ids.ts';
import { zeroCounters } from '../../contracts/run.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';

/** The same name, the same handle. */
export function handleOf(name: string): Handle {
  return `run_${name.padStart(22, '0')}` as Handle;
}

export function madeRun(name: string, over: Partial<RunView> = {}): RunView {
  const handle = handleOf(name);
  return {
    handle,
    status: 'Running',
    phase: 'model turn 1',
    summary: `task of ${name}`,
    model: 'm',
    class: 'interactive',
    caller: 'ann',
    root: handle,
    parent: null,
    startedAt: new Date(1_000_000).toISOString(),
    endedAt: null,
    result: null,
    cutAtMaxTokens: false,
    reason: null,
    partial: null,
    counters: zeroCounters,
    pendingApprovals: [],
    decidedApprovals: [],
    budget: null,
    ...over,
  };
}
