/**
 * What `await` and `run` have in common: wait, ask whoever can be asked, and tell how it stands. A call
 * that was ended with questions is taken up where it was, with nothing started twice.
 */
import { inputRequired, type InputRequiredResult } from '@modelcontextprotocol/server';
import { handleSchema } from '../../contracts/ids.ts';
import type { AwaitProgress } from '../runs/await-runs.ts';
import { inputRequestsOf, type ApprovalQuestion } from './approval-form.ts';
import { awaitAsking, newStanding, takeAnswers, type WaitStanding } from './await-asking.ts';
import { bindingOf, readWaitState, type WaitState } from './request-state.ts';
import { tellAwait, withNotes, type ToolAnswer } from './run-text.ts';
import type { ToolCall, ToolDeps } from './tool-call.ts';

export interface Waiting {
  readonly tool: 'await' | 'run';
  /** Arguments of the call, as parsed. */
  readonly input: unknown;
  readonly mode: 'all' | 'any';
  readonly timeoutMs: number;
  /** Starts or names the runs; of `run` it is the one that is asked for once, however often it takes. */
  start(): Promise<{ readonly handles: readonly string[]; readonly notes: readonly string[] }>;
}

/** @throws UserFault when a call that is made again is not the one that was asked in. */
export async function waitAndTell(
  { service, states }: ToolDeps,
  call: ToolCall,
  waiting: Waiting,
): Promise<ToolAnswer | InputRequiredResult> {
  const { tool, mode, timeoutMs } = waiting;
  const { asker, signal, asking = null, retry } = call;
  const boundTo = bindingOf(asker, tool, waiting.input);
  const resumed = retry === undefined ? null : readWaitState(retry.state, tool, boundTo);
  const { handles, notes } =
    resumed === null || resumed.handle === null
      ? await waiting.start()
      : { handles: [resumed.handle], notes: [] };
  const standing = resumed === null ? newStanding(timeoutMs, notes) : standingOf(resumed);
  if (resumed !== null)
    await takeAnswers({ service }, asker, resumed.questions, retry?.answers ?? {}, standing);
  const report = reporter(call, timeoutMs, standing);
  const wait = { handles, mode, asker, signal, asking, report };
  const result = await awaitAsking({ service }, wait, standing);
  if (result.kind === 'over') return withNotes(tellAwait(result.outcome), standing.notes);
  const { questions } = result;
  const handle = tool === 'run' ? handleSchema.parse(handles[0]) : null;
  const state = stateOf({ boundTo, handle }, questions, standing);
  return inputRequired({ inputRequests: inputRequestsOf(questions), requestState: await states.mint(state) });
}

function standingOf({ leftMs, rounds, asked, notes }: WaitState): WaitStanding {
  return { leftMs, rounds, asked: new Set(asked), notes: [...notes] };
}

function stateOf(
  of: Pick<WaitState, 'boundTo' | 'handle'>,
  questions: readonly ApprovalQuestion[],
  { leftMs, rounds, asked, notes }: WaitStanding,
): WaitState {
  return {
    ...of,
    leftMs,
    rounds,
    questions: questions.map(({ handle, approvalId, tool }) => ({ handle, approvalId, tool })),
    asked: [...asked],
    notes: [...notes],
  };
}

/**
 * Reports as progress messages; absent when the client wants none. Progress only ever grows; while somebody is
 * asked the total grows with it, since that takes nothing of the time to wait.
 */
function reporter({ progress }: ToolCall, timeoutMs: number, standing: WaitStanding) {
  if (progress === undefined) return undefined;
  const startedAt = performance.now() - (timeoutMs - standing.leftMs);
  return async ({ elapsedMs, ended, total, sample }: AwaitProgress, asking: string | null): Promise<void> => {
    const nowMs = performance.now() - startedAt;
    const endMs = nowMs + standing.leftMs - (asking === null ? elapsedMs : 0);
    const phase = sample === null ? null : `${sample.handle}: ${sample.phase}`;
    const doing = asking ?? phase;
    const words = `${ended} of ${total} ended${doing === null ? '' : `; ${doing}`}`;
    await progress(nowMs / 1_000, endMs / 1_000, words);
  };
}
