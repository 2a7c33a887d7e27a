/** All calls that wait for a decision, and decisions of this tab. */
import { computed, signal } from '@preact/signals';
import { ApiError, get, post, wordsOf } from '../api/request.ts';
import type {
  ApprovalChange,
  DecidedApproval,
  PendingApproval,
  Run,
  RunDetail,
  RunPage,
} from '../api/types.ts';

export interface OpenApproval {
  readonly handle: string;
  readonly task: string;
  readonly caller: string | null;
  /** When its run was seen waiting first; ISO 8601. */
  readonly approval: PendingApproval;
}

export interface Answered {
  readonly kind: 'accepted' | 'too-late' | 'failed';
  readonly words: string;
}

/** Runs that wait which are read at once; more are named as such. */
const mostRuns = 200;

export const open = signal<ReadonlyMap<string, OpenApproval>>(new Map());
export const moreWait = signal(false);
export const fault = signal<string | null>(null);
/** By the id of the approval: what became of the answer given here. */
export const answers = signal<ReadonlyMap<string, Answered>>(new Map());
/** Ids of answers that are on their way. */
export const sending = signal<ReadonlySet<string>>(new Set());
export const openCount = computed(() => open.value.size);

export async function loadApprovals(): Promise<void> {
  try {
    const page = await get<RunPage>(`runs?status=AwaitingApproval&limit=${mostRuns}`);
    open.value = new Map(page.runs.flatMap((run) => approvalsOf(run).map((one) => [one.approval.id, one])));
    moreWait.value = page.nextCursor !== null;
    fault.value = null;
  } catch (error) {
    fault.value = wordsOf(error);
  }
}

function approvalsOf(run: Run): OpenApproval[] {
  const { handle, task, caller } = run;
  return run.pendingApprovals.map((approval) => ({ handle, task, caller, approval }));
}

/** A run as an event tells it: what it waits for now. */
export function noteApprovals(run: Run): void {
  const before = open.value;
  const others = [...before].filter(([, one]) => one.handle !== run.handle);
  const own = approvalsOf(run).map((one): [string, OpenApproval] => [one.approval.id, one]);
  if (own.length === 0 && others.length === before.size) return;
  open.value = new Map([...others, ...own]);
}

export function noteApproval({ change, handle, task, opened, decided }: ApprovalChange): void {
  if (change === 'opened' && opened !== null && !open.value.has(opened.id)) {
    open.value = new Map([...open.value, [opened.id, { handle, task, caller: null, approval: opened }]]);
  }
  if (change === 'decided' && decided !== null) drop(decided.id);
}

function drop(id: string): void {
  if (!open.value.has(id)) return;
  open.value = new Map([...open.value].filter(([other]) => other !== id));
}

/** All of its arguments; null: it waits no more. */
export async function wholeApproval(handle: string, id: string): Promise<PendingApproval | null> {
  const run = await get<RunDetail>(`runs/${handle}`);
  return run.pendingApprovals.find((one) => one.id === id) ?? null;
}

/** Never throws: what became of it is told in `answers`. */
export async function decide(handle: string, id: string, allow: boolean): Promise<void> {
  if (sending.value.has(id)) return;
  sending.value = new Set([...sending.value, id]);
  const answered = await send(handle, id, allow);
  answers.value = new Map([...[...answers.value].slice(-200), [id, answered]]);
  sending.value = new Set([...sending.value].filter((other) => other !== id));
  if (answered.kind !== 'failed') drop(id);
}

async function send(handle: string, id: string, allow: boolean): Promise<Answered> {
  try {
    const { decided } = await post<{ decided: DecidedApproval }>(`runs/${handle}/approvals/${id}`, { allow });
    return { kind: 'accepted', words: `${decided.tool}: ${decided.allow ? 'allowed' : 'declined'}` };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409)
      return { kind: 'failed', words: wordsOf(error) };
    const decided = error.body['decided'] as DecidedApproval | undefined;
    if (decided === undefined) return { kind: 'too-late', words: error.message };
    const how = decided.allow ? 'allowed' : 'declined';
    return {
      kind: 'too-late',
      words: `${decided.tool}: already ${how} by ${decided.by}; your answer changed nothing`,
    };
  }
}
