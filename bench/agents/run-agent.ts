/**
 * One run of an agent with its own loop: asks, waits for its tool as long as the plan says, asks again with all
 * that was said, until the answer. Writes the records that bench/sim/measure.ts reads; times in ms since
 * `startedAtMs`, so that a recording of real time looks like one of virtual time.
 *
 * A refused or broken turn fails the run, as in the simulation; nothing is retried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { requestHeaders } from '../../contracts/headers.ts';
import type { RunRecord, TurnRecord } from '../sim/recorder.ts';
import type { RunPlan } from '../sim/workload.ts';
import { ask, AskFault, type Answer } from './ask.ts';
import { dialogueOf, digestOf, type Dialogue, type DialogueKind, type Reply } from './dialogue.ts';

export interface AgentTarget {
  readonly dispatcher: Dispatcher;
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly dialogue: DialogueKind;
  /**
   * Say by headers whose turn it is (run, class, caller), and when a run is over (`DELETE /v1/runs/{id}`).
   * False: plain requests, as to any OpenAI endpoint.
   */
  readonly named: boolean;
  /** Before the plan's id in the run header, so that runs of several windows stay apart. Default none. */
  readonly runPrefix?: string;
  /** Fields of the body by which some other gateway is told whose turn it is. Default none. */
  readonly runFields?: (plan: RunPlan) => Readonly<Record<string, unknown>>;
}

export interface AgentClock {
  /** Moment 0 of the recording, by `performance.now()`. */
  readonly startedAtMs: number;
  readonly signal: AbortSignal;
}

export interface AgentRun {
  readonly record: RunRecord;
  readonly turns: readonly TurnRecord[];
  /** Of all that the model said, see digestOf; null: the run did not end with an answer. */
  readonly digest: string | null;
  /** Replies that were not what the plan says they must be. */
  readonly wrongReplies: number;
  /** Why it failed; null: it did not. */
  readonly fault: string | null;
}

/** What a run has come to while it is under way; the caller keeps it, so that a cut-off run is seen too. */
export interface Records {
  readonly runs: RunRecord[];
  readonly turns: TurnRecord[];
}

/** @throws AbortError when the signal is aborted meanwhile; its records stay, without an end. */
export async function runAgent(
  plan: RunPlan,
  target: AgentTarget,
  clock: AgentClock,
  records: Records = { runs: [], turns: [] },
): Promise<AgentRun> {
  const now = (): number => performance.now() - clock.startedAtMs;
  const record: RunRecord = {
    class: plan.class,
    caller: plan.caller,
    startedAtMs: now(),
    endedAtMs: null,
    failed: false,
  };
  records.runs.push(record);
  const own: TurnRecord[] = [];
  const end = async (fault: string | null, replies: readonly Reply[], wrongReplies: number) => {
    record.failed = fault !== null;
    record.endedAtMs = own.at(-1)?.finishedAtMs ?? now();
    if (target.named) await endRun(plan, target, clock.signal);
    return { record, turns: own, digest: fault === null ? digestOf(replies) : null, wrongReplies, fault };
  };
  const dialogue = dialogueOf(target.dialogue, plan);
  const messages = [...dialogue.opening()];
  const replies: Reply[] = [];
  let wrongReplies = 0;
  for (const [number, turn] of plan.turns.entries()) {
    const turnRecord = openTurn(plan, number, now(), target.named);
    own.push(turnRecord);
    records.turns.push(turnRecord);
    try {
      const answer = await ask(target.dispatcher, {
        baseUrl: target.baseUrl,
        model: target.model,
        messages,
        fields: { ...dialogue.fields(number), ...target.runFields?.(plan) },
        headers: target.named ? headersOf(plan, target) : {},
        signal: clock.signal,
      });
      closeTurn(turnRecord, answer, clock.startedAtMs);
      replies.push(answer);
      if (!isExpected(dialogue, number, answer)) wrongReplies += 1;
      messages.push(...dialogue.after(number, answer));
    } catch (error) {
      if (!(error instanceof AskFault)) throw error;
      return await end(error.message, replies, wrongReplies);
    }
    if (turn.tool !== null) await sleep(turn.tool.durationMs, undefined, { signal: clock.signal });
  }
  return await end(null, replies, wrongReplies);
}

function headersOf(plan: RunPlan, { runPrefix = '' }: AgentTarget): Record<string, string> {
  return {
    [requestHeaders.runId[0]]: runPrefix + plan.id,
    [requestHeaders.serviceClass[0]]: plan.class,
    [requestHeaders.caller[0]]: plan.caller,
  };
}

const endTimeoutMs = 5_000;

/** A run that cannot be ended is forgotten by itself. */
async function endRun(plan: RunPlan, target: AgentTarget, signal: AbortSignal): Promise<void> {
  const { dispatcher, baseUrl, runPrefix = '' } = target;
  try {
    const response = await dispatcher.request({
      origin: baseUrl,
      method: 'DELETE',
      path: `/v1/runs/${encodeURIComponent(runPrefix + plan.id)}`,
      headers: { [requestHeaders.caller[0]]: plan.caller },
      signal: AbortSignal.any([signal, AbortSignal.timeout(endTimeoutMs)]),
    });
    await response.body.dump();
  } catch (error) {
    if (signal.aborted) throw error;
  }
}

/** Only fermata tells how long it held a turn; what others let wait, waits at an engine. */
function openTurn(plan: RunPlan, number: number, arrivedAtMs: number, named: boolean): TurnRecord {
  const turn = plan.turns[number];
  return {
    class: plan.class,
    caller: plan.caller,
    number,
    arrivedAtMs,
    admittedAtMs: named ? null : arrivedAtMs,
    firstByteAtMs: null,
    finishedAtMs: null,
    promptTokens: turn?.promptTokens ?? 0,
    outputTokens: turn?.outputTokens ?? 0,
    cachedTokens: 0,
    replica: null,
  };
}

function closeTurn(record: TurnRecord, answer: Answer, startedAtMs: number): void {
  record.admittedAtMs = record.arrivedAtMs + (answer.heldMs ?? 0);
  record.firstByteAtMs = answer.firstByteAtMs - startedAtMs;
  record.finishedAtMs = answer.finishedAtMs - startedAtMs;
  record.promptTokens = answer.usage?.promptTokens ?? record.promptTokens;
  record.outputTokens = answer.usage?.outputTokens ?? record.outputTokens;
  record.cachedTokens = answer.cachedTokens ?? 0;
}

function isExpected(dialogue: Dialogue, turn: number, { content, calls }: Reply): boolean {
  const expected = dialogue.expected(turn);
  return expected === null || digestOf([expected]) === digestOf([{ content, calls }]);
}
