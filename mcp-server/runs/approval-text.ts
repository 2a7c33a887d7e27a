/** How open approvals are told to a model: what waits and how to decide it. Pure. */
import type { PendingApproval } from '../../contracts/run.ts';
import { cutMiddle, jsonBytes } from './fair-cut.ts';
import type { RunView } from './run-view.ts';

/** Open approvals of one run, as far as an answer has room for them. */
export interface FittedApprovals {
  readonly shown: readonly PendingApproval[];
  /** So many more wait. */
  readonly more: number;
}

export const noneFitted: FittedApprovals = { shown: [], more: 0 };

const defaultBytes = 16_000;
/** Arguments are never cut shorter than this; an answer rather shows fewer calls. */
const leastBytes = 200;
/** Room for an id, the name of a tool and what stands around them. */
const fixedBytes = 200;

/**
 * Cuts the arguments of all `lists` together to about `bytes`, equally, and leaves calls out only where
 * they are too many even so.
 */
export function fitApprovals(
  lists: readonly (readonly PendingApproval[])[],
  bytes: number = defaultBytes,
): { readonly lists: FittedApprovals[]; readonly bytes: number } {
  const total = lists.reduce((sum, list) => sum + list.length, 0);
  const each = Math.max(leastBytes, Math.floor(bytes / Math.max(1, total)) - fixedBytes);
  let room = Math.max(1, Math.floor(bytes / (leastBytes + fixedBytes)));
  let used = 0;
  const fitted = lists.map((list) => {
    const shown = list.slice(0, room).map((one) => ({ ...one, arguments: cutMiddle(one.arguments, each) }));
    room -= shown.length;
    used += shown.reduce((sum, one) => sum + fixedBytes + jsonBytes(one.arguments), 0);
    return { shown, more: list.length - shown.length };
  });
  return { lists: fitted, bytes: used };
}

/** One line for each: `waits for approval apr_…: web__delete_page {"page":"home"}`. */
export function approvalLines({ shown, more }: FittedApprovals): string[] {
  const lines = shown.map((one) => `waits for approval ${one.id}: ${one.tool} ${one.arguments}`);
  return more === 0 ? lines : [...lines, `and ${more} more calls wait; status with its handle lists them`];
}

/** What to do about calls that wait; null when none does. */
export function approvalHint(runs: readonly RunView[]): string | null {
  const waiting = runs.filter((run) => run.pendingApprovals.length > 0);
  const calls = waiting.reduce((sum, run) => sum + run.pendingApprovals.length, 0);
  if (calls === 0) return null;
  const whose = waiting.length === 1 ? (waiting[0]?.handle ?? '') : `${waiting.length} runs`;
  const what = calls === 1 ? `1 tool call of ${whose} waits` : `${calls} tool calls of ${whose} wait`;
  return `${what} for approval: show ${calls === 1 ? 'it' : 'them'} to the user and call approve with handle, approvalId and allow, then await again.`;
}

/** Of an unfinished run, as structured content; nothing when none is open. */
export function structuredApprovals({ shown, more }: FittedApprovals): Record<string, unknown> {
  const [first] = shown;
  if (first === undefined) return more === 0 ? {} : { morePendingApprovals: more };
  return {
    pendingApproval: first,
    pendingApprovals: [...shown],
    ...(more === 0 ? {} : { morePendingApprovals: more }),
  };
}
