/**
 * What has changed from one look at Temporal's list of runs to the next. Pure but for what it remembers,
 * which is bounded. A look that shows a run as it was before its end changes nothing.
 */
import type { Handle } from '../../contracts/ids.ts';
import { isFinal, type DecidedApproval, type PendingApproval, type RunStatus } from '../../contracts/run.ts';
import type { RunView } from './run-view.ts';

export type RunChange =
  | {
      readonly kind: 'run';
      /** `progress`: only its counters or its budget. */
      readonly change: 'started' | 'status' | 'phase' | 'progress' | 'ended';
      readonly run: RunView;
    }
  | {
      readonly kind: 'approval';
      readonly change: 'opened';
      readonly run: RunView;
      readonly approval: PendingApproval;
    }
  | {
      readonly kind: 'approval';
      readonly change: 'decided';
      readonly run: RunView;
      readonly approval: DecidedApproval;
    };

interface Seen {
  readonly status: RunStatus;
  readonly phase: string;
  readonly progress: string;
  readonly open: ReadonlySet<string>;
  readonly decided: ReadonlySet<string>;
  readonly endedAtMs: number | null;
  readonly seenAtMs: number;
}

/** A run at work that no look has shown for so long is forgotten. */
const forgetMs = 600_000;
/** More are not remembered; the ones that were not seen for longest go first. */
const maxRuns = 10_000;
/** How far a clock may be from that of Temporal, and a list behind. */
const slackMs = 30_000;

export class RunChanges {
  readonly #seen = new Map<Handle, Seen>();
  readonly #sinceMs: number;
  #first = true;

  /** @param sinceMs a run that started before is none that starts now. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  get size(): number {
    return this.#seen.size;
  }

  /**
   * The first look tells what there is, and changes nothing.
   * @param views newest first.
   * @param atMs when the look began.
   * @param endedSinceMs the look shows all runs that ended since, and may leave out others.
   */
  take(views: readonly RunView[], atMs: number, endedSinceMs: number): RunChange[] {
    const changes = views.toReversed().flatMap((run) => {
      const before = this.#seen.get(run.handle);
      if (before !== undefined && before.endedAtMs !== null) return [];
      const now = seenOf(run, atMs);
      // Put anew, so that the order of the map is that of the last looks.
      this.#seen.delete(run.handle);
      this.#seen.set(run.handle, now);
      return this.#first ? [] : changesOf(run, before ?? null, now, this.#sinceMs);
    });
    this.#first = false;
    this.#forget(atMs, endedSinceMs);
    return changes;
  }

  #forget(atMs: number, endedSinceMs: number): void {
    for (const [handle, { endedAtMs, seenAtMs }] of this.#seen) {
      const isOld = endedAtMs === null ? seenAtMs < atMs - forgetMs : endedAtMs < endedSinceMs - slackMs;
      if (isOld || this.#seen.size > maxRuns) this.#seen.delete(handle);
    }
  }
}

function seenOf(run: RunView, atMs: number): Seen {
  const { status, phase, counters, budget, pendingApprovals, decidedApprovals, endedAt } = run;
  return {
    status,
    phase,
    progress: JSON.stringify([counters, budget?.used ?? null]),
    open: new Set(pendingApprovals.map(({ id }) => id)),
    decided: new Set(decidedApprovals.map(({ id }) => id)),
    endedAtMs: isFinal(status) ? (endedAt === null ? atMs : Date.parse(endedAt)) : null,
    seenAtMs: atMs,
  };
}

function changesOf(run: RunView, before: Seen | null, now: Seen, sinceMs: number): RunChange[] {
  const started =
    before === null && Date.parse(run.startedAt) >= sinceMs - slackMs
      ? [{ kind: 'run' as const, change: 'started' as const, run }]
      : [];
  const opened = run.pendingApprovals
    .filter(({ id }) => before?.open.has(id) !== true)
    .map((approval) => ({ kind: 'approval' as const, change: 'opened' as const, run, approval }));
  const decided = run.decidedApprovals
    .filter(({ id }) => before?.decided.has(id) !== true)
    .map((approval) => ({ kind: 'approval' as const, change: 'decided' as const, run, approval }));
  const change = changeOf(run, before, now);
  const itself = change === null || (started.length > 0 && change !== 'ended') ? [] : [change];
  return [
    ...started,
    ...decided,
    ...itself.map((name) => ({ kind: 'run' as const, change: name, run })),
    ...opened,
  ];
}

function changeOf(
  { status }: RunView,
  before: Seen | null,
  now: Seen,
): 'status' | 'phase' | 'progress' | 'ended' | null {
  if (isFinal(status)) return 'ended';
  if (before === null || before.status !== status) return 'status';
  if (before.phase !== now.phase) return 'phase';
  return before.progress === now.progress ? null : 'progress';
}
