/**
 * Which tool calls need the user, which of them wait now, and what was decided: one plain value that is
 * carried along with the state of a run. An approval is one call with its exact arguments; its decision
 * counts for that call, once. Pure; `approval-desk.ts` waits and takes the decisions in.
 */
import { approvalFailureTypes, memoTextLimit } from '../contracts/run-names.ts';
import type { ApprovalDecision, DecidedApproval, PendingApproval } from '../contracts/run.ts';
import type { ListedTool } from '../contracts/tool-listing.ts';
import { textDigest } from '../contracts/transcript-digest.ts';
import { cutText } from './text.ts';

/**
 * So many decisions are remembered, for those who answer late. Open are at most the calls of one reply,
 * which are fewer (`next-step.ts`).
 */
export const decidedLimit = 200;
const listedDecisions = 10;
/** UTF-16 units that the arguments of all open approvals may take in the memo. */
const listedArguments = 16_384;

export interface Approvals {
  /** In the order of their calls; arguments in full. */
  readonly open: readonly PendingApproval[];
  /** Newest last. */
  readonly decided: readonly DecidedApproval[];
  /** Why the last signal changed nothing; null: there was none, or a later one did. */
  readonly note: string | null;
}

export const noApprovals: Approvals = { open: [], decided: [], note: null };

/** A call as the model made it, checked and ready to be run. */
export interface ApprovableCall {
  /** Unique in the run. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** @param approveTools names of the tool listing, whose calls wait whatever their annotations say. */
export function needsApproval(
  { name, annotations }: Pick<ListedTool, 'name' | 'annotations'>,
  approveTools: readonly string[],
): boolean {
  if (approveTools.includes(name)) return true;
  return annotations.destructiveHint === true && annotations.readOnlyHint !== true;
}

/** Opens the approval of `call`; the id follows from the run, the call and its arguments. */
export function openApproval(
  approvals: Approvals,
  run: string,
  call: ApprovableCall,
): { readonly approvals: Approvals; readonly id: string } {
  const digest = textDigest(JSON.stringify([run, call.id, call.name, call.arguments]));
  const id = unusedId(approvals, `apr_${digest}`);
  const opened = { id, tool: call.name, arguments: call.arguments };
  return { approvals: { ...approvals, open: [...approvals.open, opened] }, id };
}

/** A digest of 64 bits may meet another one; an id must not. */
function unusedId(approvals: Approvals, wanted: string): string {
  const taken = (id: string): boolean =>
    [...approvals.open, ...approvals.decided].some((one) => one.id === id);
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? wanted : `${wanted}_${number}`;
    if (!taken(id)) return id;
  }
}

export function decisionOf(approvals: Approvals, id: string): DecidedApproval | null {
  return approvals.decided.find((decided) => decided.id === id) ?? null;
}

export type DecisionOutcome =
  | { readonly kind: 'accepted'; readonly approvals: Approvals; readonly decided: DecidedApproval }
  | {
      readonly kind: 'refused';
      readonly type: (typeof approvalFailureTypes)[keyof typeof approvalFailureTypes];
      /** One readable line. */
      readonly words: string;
      /** The decision that came first. */
      readonly decided: DecidedApproval | null;
    };

/** Takes `decision` in, if it fits an open approval; whatever it is, the first one counts. */
export function decide(approvals: Approvals, decision: unknown): DecisionOutcome {
  const read = readDecision(decision);
  if (typeof read === 'string') {
    return { kind: 'refused', type: approvalFailureTypes.invalid, words: read, decided: null };
  }
  const { id, allow, by } = read;
  const open = approvals.open.find((one) => one.id === id);
  if (open !== undefined) {
    const decided = { id, tool: open.tool, allow, by };
    return {
      kind: 'accepted',
      decided,
      approvals: {
        open: approvals.open.filter((one) => one.id !== id),
        decided: [...approvals.decided, decided].slice(-decidedLimit),
        note: null,
      },
    };
  }
  const before = decisionOf(approvals, id);
  if (before !== null) {
    const words = `approval ${id} was already decided: ${tellDecided(before)}`;
    return { kind: 'refused', type: approvalFailureTypes.decided, words, decided: before };
  }
  const waiting = approvals.open.map((one) => one.id);
  const known = waiting.length === 0 ? 'no call waits for approval now' : `open now: ${waiting.join(', ')}`;
  const words = `no approval '${cutText(id, 64)}' is open in this run; ${known}`;
  return { kind: 'refused', type: approvalFailureTypes.unknown, words, decided: null };
}

/** `call of web__delete_page, declined by ann`. */
export function tellDecided({ tool, allow, by }: DecidedApproval): string {
  return `call of ${tool}, ${allow ? 'allowed' : 'declined'} by ${by}`;
}

/** A decision as it should be, else one line that says what is wrong with it. */
function readDecision(given: unknown): ApprovalDecision | string {
  const expected = 'expected {"id": "apr_…", "allow": true or false, "by": "who decides"}';
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return `not an object; ${expected}`;
  const { id, allow, by, ...rest } = given as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `unknown field '${cutText(unknown, 64)}'; ${expected}`;
  if (!isText(id, 128)) return `id must be a text of 1 to 128 characters; ${expected}`;
  if (typeof allow !== 'boolean') return `allow must be true or false; ${expected}`;
  if (!isText(by, 256)) return `by must be a text of 1 to 256 characters; ${expected}`;
  return { id, allow, by };
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= maxLength;
}

const signaller = 'a signal';

/**
 * Takes a signal in: `{id?, allow?, by?}` or nothing; without `id` the only open approval is meant,
 * without `allow` it is allowed, as the signal's name says. What cannot be used changes nothing and leaves a note:
 * with a field too many, `allow` might be what was meant.
 */
export function decideBySignal(approvals: Approvals, payload: unknown): Approvals {
  const given = payload ?? {};
  const ignored = (why: string): Approvals => ({ ...approvals, note: `a signal was ignored: ${why}` });
  if (typeof given !== 'object' || Array.isArray(given)) {
    return ignored('its payload is no object; expected {"id": "apr_…", "allow": true, "by": "me"}');
  }
  const fields = { allow: true, by: signaller, ...given };
  const [only, ...others] = approvals.open;
  if (!Object.hasOwn(fields, 'id')) {
    if (only === undefined) return ignored('no call waits for approval now');
    if (others.length > 0) {
      const ids = approvals.open.map((one) => one.id).join(', ');
      return ignored(`it names no id, and several calls wait: ${cutText(ids, 1_000)}`);
    }
  }
  const outcome = decide(approvals, { id: only?.id, ...fields });
  return outcome.kind === 'accepted' ? outcome.approvals : ignored(outcome.words);
}

/** The open approvals as readers see them; the longer the list, the shorter their arguments. */
export function listedApprovals({ open }: Approvals): PendingApproval[] {
  const limit = Math.min(memoTextLimit, Math.floor(listedArguments / Math.max(1, open.length)));
  return open.map((one) => ({ ...one, arguments: cutText(one.arguments, limit) }));
}

/** For the memo; the run itself, asked by a query, knows more of them. */
export function latestDecisions({ decided }: Approvals): DecidedApproval[] {
  return decided.slice(-listedDecisions);
}

/** What the model reads in place of a result. */
export const declinedText = 'Error: the user declined this tool call';
