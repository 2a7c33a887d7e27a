/**
 * Waits until runs have ended, all or any, or all that are left wait for approval, or time is up. The runs
 * go on whatever becomes of the wait.
 */
import { isFinal } from '../../contracts/run.ts';
import type { ApiClient, RunDetail } from './api-client.ts';

export interface AwaitRequest {
  readonly handles: readonly string[];
  /** `any`: the first that has ended is enough. */
  readonly mode: 'all' | 'any';
  /** null: no limit. */
  readonly timeoutMs: number | null;
  /** Told whenever one was looked at. */
  readonly onLook: (runs: readonly RunDetail[]) => void;
  readonly interrupted: AbortSignal;
}

export interface Awaited {
  readonly end: 'done' | 'timeout' | 'approval' | 'interrupted';
  /** In the order of the handles, as last seen. */
  readonly runs: readonly RunDetail[];
}

/** So long one call waits at most: what is shown meanwhile is not older. */
const lookSeconds = 2;
const lookSecondsOfMany = 20;
const many = 8;

/** @throws CommandFault when the server cannot be asked or does not know a handle. */
export async function awaitRuns(api: ApiClient, request: AwaitRequest): Promise<Awaited> {
  const { handles, mode, timeoutMs, onLook, interrupted } = request;
  const deadline = timeoutMs === null ? Infinity : performance.now() + timeoutMs;
  const seen = new Map<string, RunDetail>();
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, interrupted]);
  const waitSeconds = handles.length > many ? lookSecondsOfMany : lookSeconds;
  const runs = (): RunDetail[] => handles.flatMap((handle) => seen.get(handle) ?? []);
  const isDone = (): boolean => {
    const ended = runs().filter(({ status }) => isFinal(status)).length;
    return mode === 'any' ? ended > 0 : ended === handles.length;
  };
  const allWait = (): boolean =>
    seen.size === handles.length &&
    runs().every(({ status }) => isFinal(status) || status === 'AwaitingApproval');
  const watch = async (handle: string): Promise<void> => {
    let wait = 0;
    while (!signal.aborted) {
      const run = await api.run(handle, wait, signal);
      seen.set(handle, run);
      onLook(runs());
      const leftSeconds = (deadline - performance.now()) / 1_000;
      if (isDone() || allWait() || leftSeconds <= 0) stop.abort();
      if (isFinal(run.status)) return;
      wait = Math.max(0, Math.ceil(Math.min(waitSeconds, leftSeconds) * 10) / 10);
    }
  };
  try {
    await Promise.all([...new Set(handles)].map(watch));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
  }
  const end = isDone() ? 'done' : interrupted.aborted ? 'interrupted' : allWait() ? 'approval' : 'timeout';
  return { end, runs: runs() };
}
