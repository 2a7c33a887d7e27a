/**
 * Waits until one or all of several runs have ended, for a bounded time, and tells how each stands. It
 * waits no longer when all that goes on waits for approval: nothing would ever come of it. Whoever can put
 * a question to a person has it end sooner, with the first call to ask about.
 */
import type { Handle } from '../../contracts/ids.ts';
import { isFinal } from '../../contracts/run.ts';
import { AbortScope } from './abort-scope.ts';
import type { ApprovalLooks } from './approval-looks.ts';
import type { Asker } from './asker.ts';
import type { RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';
import type { RunWatches } from './run-watches.ts';

/** What of approvals ends a wait before its time. */
export type ApprovalStop =
  /** All that goes on waits. Patient: only after a while when that is no news. */
  | { readonly kind: 'all wait'; readonly patient: boolean }
  /** An approval other than these is open, or all that goes on waits. */
  | { readonly kind: 'opened'; readonly except: ReadonlySet<string> }
  /** This one is not open any more. */
  | { readonly kind: 'decided'; readonly handle: Handle; readonly approvalId: string };

export interface AwaitRequest {
  readonly handles: readonly Handle[];
  /** `all`: until every run has ended; `any`: until one has. */
  readonly mode: 'all' | 'any';
  /** Milliseconds to wait at most; 0 only looks. */
  readonly timeoutMs: number;
  readonly asker: Asker;
  /** Default: patiently, that all wait. */
  readonly stopAt?: ApprovalStop | undefined;
}

export interface AwaitProgress {
  readonly elapsedMs: number;
  readonly ended: number;
  readonly total: number;
  /** One of the runs that go on, as it was a moment ago; null when it could not be read. */
  readonly sample: RunView | null;
}

export interface AwaitOutcome {
  /** What was waited for has happened. */
  readonly done: boolean;
  /** In the order of the handles, each once. */
  readonly runs: readonly RunView[];
}

export interface AwaitDeps {
  readonly reader: RunReader;
  readonly watches: RunWatches;
  readonly looks: ApprovalLooks;
  /** Milliseconds between two reports of progress. */
  readonly progressMs: number;
}

/**
 * @param signal the client has gone, or does not want to wait any more.
 * @param report called every `progressMs` while it waits.
 * @throws UserFault for an unknown handle; the signal's reason.
 */
export async function awaitRuns(
  deps: AwaitDeps,
  request: AwaitRequest,
  signal: AbortSignal,
  report?: (progress: AwaitProgress) => Promise<void>,
): Promise<AwaitOutcome> {
  const handles = [...new Set(request.handles)];
  const ended = new Map<Handle, RunView>();
  const open = new Set<Handle>();
  let known = true;
  let opened = false;
  const { stopAt = { kind: 'all wait', patient: true } } = request;
  for (const view of await deps.reader.readMany(handles, request.asker)) {
    if (isFinal(view.status)) ended.set(view.handle, view);
    else {
      open.add(view.handle);
      known &&= view.status === 'AwaitingApproval';
      opened ||= stopAt.kind === 'opened' && view.pendingApprovals.some(({ id }) => !stopAt.except.has(id));
    }
  }
  const enough = (): boolean => opened || open.size === 0 || (request.mode === 'any' && ended.size > 0);
  if (!enough() && request.timeoutMs > 0) {
    const waiting = new AbortScope(signal);
    const ticker =
      report === undefined ? null : startTicker(deps, { handles, open, ended, asker: request.asker }, report);
    const timer = setTimeout(() => waiting.abort(), request.timeoutMs);
    untilStopped(deps.looks, stopAt, { open, asker: request.asker, known }, waiting.signal)
      .then(() => waiting.abort())
      .catch(() => undefined);
    try {
      await settle([...open], waiting.signal, deps.watches, (view) => {
        ended.set(view.handle, view);
        open.delete(view.handle);
        if (enough()) waiting.abort();
      });
    } finally {
      clearTimeout(timer);
      if (ticker !== null) clearInterval(ticker);
      waiting.abort();
      waiting.end();
    }
  }
  signal.throwIfAborted();
  for (const view of await deps.reader.readMany([...open], request.asker)) ended.set(view.handle, view);
  const runs = handles.flatMap((handle) => ended.get(handle) ?? []);
  const finished = runs.filter((run) => isFinal(run.status)).length;
  return { done: request.mode === 'any' ? finished > 0 : finished === runs.length, runs };
}

async function untilStopped(
  looks: ApprovalLooks,
  stopAt: ApprovalStop,
  { open, asker, known }: { open: ReadonlySet<Handle>; asker: Asker; known: boolean },
  signal: AbortSignal,
): Promise<void> {
  switch (stopAt.kind) {
    case 'all wait':
      return await looks.untilAllWait(open, { asker, known: known && stopAt.patient }, signal);
    case 'opened':
      return await looks.untilOpened(open, { asker, except: stopAt.except }, signal);
    case 'decided':
      return await looks.untilDecided(stopAt, asker, signal);
  }
}

/** Resolves when all have ended or waiting is over; rejects when one cannot be watched. */
async function settle(
  handles: readonly Handle[],
  waiting: AbortSignal,
  watches: RunWatches,
  onEnd: (view: RunView) => void,
): Promise<void> {
  await Promise.all(
    handles.map(async (handle) => {
      try {
        onEnd(await watches.ended(handle, waiting));
      } catch (error) {
        if (!waiting.aborted) throw error;
      }
    }),
  );
}

interface Standing {
  readonly handles: readonly Handle[];
  readonly open: ReadonlySet<Handle>;
  readonly ended: ReadonlyMap<Handle, RunView>;
  readonly asker: Asker;
}

function startTicker(
  deps: AwaitDeps,
  { handles, open, ended, asker }: Standing,
  report: (progress: AwaitProgress) => Promise<void>,
): NodeJS.Timeout {
  const startedAt = performance.now();
  let busy = false;
  const tick = async (): Promise<void> => {
    const [first] = open;
    const found = first === undefined ? null : await deps.reader.find(first, asker).catch(() => null);
    const elapsedMs = performance.now() - startedAt;
    await report({ elapsedMs, ended: ended.size, total: handles.length, sample: found?.view ?? null });
  };
  return setInterval(() => {
    // A report that is slow is not overtaken by the next.
    if (busy) return;
    busy = true;
    tick()
      .catch(() => undefined)
      .finally(() => {
        busy = false;
      });
  }, deps.progressMs);
}
