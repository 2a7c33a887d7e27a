/**
 * Waits for runs and puts what waits for approval to the person behind the client, as often as it takes:
 * one form after the other where the client can be asked while it waits, else by ending the call with all
 * questions. Asking takes nothing of the time to wait. A question is put once a call. A client that cannot
 * show a form after all is asked no more in that call.
 */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { isFinal, type DecidedApproval } from '../../contracts/run.ts';
import { AbortScope } from '../runs/abort-scope.ts';
import type { Asker } from '../runs/asker.ts';
import type { AwaitOutcome, AwaitProgress } from '../runs/await-runs.ts';
import type { RunService } from '../runs/run-service.ts';
import { UserFault } from '../runs/user-fault.ts';
import { allowedBy, approvalQuestions, type ApprovalQuestion } from './approval-form.ts';
import type { ClientAsking } from './ask-client.ts';

export interface AskingWait {
  readonly handles: readonly string[];
  readonly mode: 'all' | 'any';
  readonly asker: Asker;
  readonly signal: AbortSignal;
  /** null: the client cannot be asked. */
  readonly asking: ClientAsking | null;
  /** @param doing what goes on besides. */
  readonly report?: ((progress: AwaitProgress, doing: string | null) => Promise<void>) | undefined;
}

/** Where a wait stands; it passes from one call to the next of the same wait. */
export interface WaitStanding {
  /** Of the time to wait, in milliseconds. */
  leftMs: number;
  rounds: number;
  /** Ids of approvals that were asked about, whatever came of it. */
  readonly asked: Set<string>;
  /** What was decided, in words. */
  readonly notes: string[];
}

export type AskingOutcome =
  | { readonly kind: 'over'; readonly outcome: AwaitOutcome }
  /** To be put to the client in the result of the call. */
  | { readonly kind: 'questions'; readonly questions: readonly ApprovalQuestion[] };

export interface AskingDeps {
  readonly service: Pick<RunService, 'await' | 'approve'>;
  /** Milliseconds a person has for one form that is shown during a call. Default ten minutes. */
  readonly answerMs?: number | undefined;
}

const defaultAnswerMs = 600_000;
/** The SDK's client gives up a call at the eleventh time that it is asked in it. */
const maxRoundsInResult = 8;
const maxRoundsOnStream = 200;
/** Decisions that an answer names; the others are counted. */
const maxNotes = 20;

export function newStanding(timeoutMs: number, notes: readonly string[] = []): WaitStanding {
  return { leftMs: timeoutMs, rounds: 0, asked: new Set(), notes: [...notes] };
}

/**
 * @param standing is changed as the wait goes on.
 * @throws UserFault for an unknown handle; the signal's reason.
 */
export async function awaitAsking(
  deps: AskingDeps,
  wait: AskingWait,
  standing: WaitStanding,
): Promise<AskingOutcome> {
  let { asking } = wait;
  for (;;) {
    const maxRounds = asking?.kind === 'in the result' ? maxRoundsInResult : maxRoundsOnStream;
    if (standing.rounds >= maxRounds) asking = null;
    const outcome = await awaitOnce(deps, wait, standing, asking !== null);
    if (asking === null || isOver(outcome, standing)) return { kind: 'over', outcome };
    const questions = approvalQuestions(outcome.runs, standing.asked);
    const [question] = questions;
    if (question === undefined) {
      if (allWait(outcome)) return { kind: 'over', outcome };
      continue;
    }
    standing.rounds += 1;
    if (asking.kind === 'in the result') {
      for (const { approvalId } of questions) standing.asked.add(approvalId);
      return { kind: 'questions', questions };
    }
    standing.asked.add(question.approvalId);
    const asked = await askOnStream(deps, wait, asking, question);
    switch (asked.kind) {
      case 'answered':
        await decide(deps, wait.asker, question, asked.allow, standing);
        break;
      case 'overtaken':
        if (asked.outcome.done) return { kind: 'over', outcome: asked.outcome };
        note(standing, overtakenText(question, asked.outcome));
        break;
      case 'failed':
        note(standing, `the user was not asked about ${nameOf(question)}: ${asked.reason}`);
        asking = null;
        break;
    }
  }
}

async function awaitOnce(
  { service }: AskingDeps,
  { handles, mode, asker, signal, report }: AskingWait,
  standing: WaitStanding,
  canAsk: boolean,
): Promise<AwaitOutcome> {
  const startedAt = performance.now();
  const stopAt = canAsk
    ? ({ kind: 'opened', except: standing.asked } as const)
    : // Whoever was asked and did not answer need not wait to hear what that means.
      ({ kind: 'all wait', patient: standing.rounds === 0 } as const);
  const query = { handles, mode, timeoutMs: standing.leftMs, asker, stopAt };
  const told = report === undefined ? undefined : async (at: AwaitProgress) => await report(at, null);
  const outcome = await service.await(query, signal, told);
  standing.leftMs = Math.max(0, standing.leftMs - (performance.now() - startedAt));
  return outcome;
}

function isOver({ done }: AwaitOutcome, { leftMs }: WaitStanding): boolean {
  return done || leftMs === 0;
}

function allWait({ runs }: AwaitOutcome): boolean {
  return runs.every(({ status }) => isFinal(status) || status === 'AwaitingApproval');
}

type Asked =
  | { readonly kind: 'answered'; readonly allow: boolean }
  /** What was waited for has happened meanwhile, or the call waits no more. */
  | { readonly kind: 'overtaken'; readonly outcome: AwaitOutcome }
  | { readonly kind: 'failed'; readonly reason: string };

/** Shows one form until it is answered, and takes it back when there is nothing more to ask. */
async function askOnStream(
  { service, answerMs = defaultAnswerMs }: AskingDeps,
  { handles, mode, asker, signal, report }: AskingWait,
  asking: Extract<ClientAsking, { kind: 'on the stream' }>,
  question: ApprovalQuestion,
): Promise<Asked> {
  const { handle, approvalId, form } = question;
  const scope = new AbortScope(signal);
  const stopAt = { kind: 'decided', handle, approvalId } as const;
  const query = { handles, mode, timeoutMs: answerMs, asker, stopAt };
  const doing = `asking the user about ${nameOf(question)}`;
  const told = report === undefined ? undefined : async (at: AwaitProgress) => await report(at, doing);
  const watch = service.await(query, scope.signal, told).then((outcome): Asked => {
    if (outcome.done || !isOpen(question, outcome)) return { kind: 'overtaken', outcome };
    return { kind: 'failed', reason: `no answer within ${Math.round(answerMs / 1_000)} s` };
  });
  const answer = showForm(asking, form, scope.signal);
  try {
    const first = await Promise.race([answer, watch]);
    signal.throwIfAborted();
    return first;
  } finally {
    scope.abort();
    scope.end();
    // Each ends with the scope; what they say then counts no more.
    await Promise.allSettled([answer, watch]);
  }
}

async function showForm(
  asking: Extract<ClientAsking, { kind: 'on the stream' }>,
  form: ElicitRequestFormParams,
  signal: AbortSignal,
): Promise<Asked> {
  try {
    const allow = allowedBy(await asking.ask(form, signal));
    if (allow !== null) return { kind: 'answered', allow };
    return { kind: 'failed', reason: 'the client sent no answer to a form' };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', reason: `the client says: ${words.slice(0, 200)}` };
  }
}

function isOpen({ handle, approvalId }: ApprovalQuestion, { runs }: AwaitOutcome): boolean {
  const run = runs.find((one) => one.handle === handle);
  return run === undefined || run.pendingApprovals.some(({ id }) => id === approvalId);
}

/** What an answer is about; a form that was shown is not needed any more. */
export type AskedAbout = Omit<ApprovalQuestion, 'form'>;

/**
 * Decides what was answered to questions that a call was ended with.
 * @param answers by approval id, as the client sent them.
 */
export async function takeAnswers(
  deps: AskingDeps,
  asker: Asker,
  asked: readonly AskedAbout[],
  answers: Readonly<Record<string, unknown>>,
  standing: WaitStanding,
): Promise<void> {
  // One after the other: a run takes ten at once at most.
  for (const question of asked) {
    const allow = allowedBy(answers[question.approvalId]);
    if (allow === null) note(standing, `the client sent no answer about ${nameOf(question)}`);
    else await decide(deps, asker, question, allow, standing);
  }
}

async function decide(
  { service }: AskingDeps,
  asker: Asker,
  question: AskedAbout,
  allow: boolean,
  standing: WaitStanding,
): Promise<void> {
  const { handle, approvalId } = question;
  try {
    const { accepted, decided } = await service.approve(handle, allow, approvalId, asker);
    const words = `the user ${allow ? 'allowed' : 'declined'} ${nameOf(question)}`;
    note(standing, accepted ? words : `${words}, but it was ${wayOf(decided)} before; that counts`);
  } catch (error) {
    if (!(error instanceof UserFault)) throw error;
    note(standing, `the user's answer about ${nameOf(question)} was not taken: ${error.message}`);
  }
}

function overtakenText(question: ApprovalQuestion, { runs }: AwaitOutcome): string {
  const run = runs.find(({ handle }) => handle === question.handle);
  const decided = run?.decidedApprovals.find(({ id }) => id === question.approvalId);
  const how = decided === undefined ? `waits no more (${run?.status ?? 'its run is gone'})` : wayOf(decided);
  return `${nameOf(question)}: ${how}, while the user was being asked`;
}

function wayOf({ allow, by }: DecidedApproval): string {
  return `${allow ? 'allowed' : 'declined'} by ${by}`;
}

function nameOf({ tool, handle }: AskedAbout): string {
  return `${tool} of ${handle}`;
}

function note({ notes }: WaitStanding, text: string): void {
  if (notes.length < maxNotes) notes.push(text.slice(0, 400));
  else if (notes.length === maxNotes) notes.push('more was asked and decided; status tells of each run');
}
