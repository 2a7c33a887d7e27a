/**
 * What became of runs, turns and tool calls, from what was observed and what the runs' transcripts say. Pure.
 */
import type { Observations, ObservedRun } from './recorder.ts';
import { isOnce, type PlannedRun } from './workload.ts';

/** The part of a transcript that is judged. */
export interface TranscriptMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

/** By handle; of every run that has ended. */
export type Transcripts = ReadonlyMap<string, readonly TranscriptMessage[]>;

export interface Verdict {
  /** Ended otherwise than with the scripted answer, after the scripted turns and calls. */
  readonly lost: readonly string[];
  /**
   * Went through to their answer without the tools of their script: the tool server had not answered within 5 s
   * when they began, and was left out with a warning. None of the lost.
   */
  readonly toolsLeftOut: readonly string[];
  readonly unsettled: readonly string[];
  /** Turns that stand twice in a transcript. */
  readonly turnsDoubled: number;
  /** Calls of tools that must not be repeated, made more than once, by idempotency key. */
  readonly callsDoubled: number;
  /** The same by what was asked: a second call of a run with the arguments of an earlier one. */
  readonly effectsDoubled: number;
  /** Turns that an engine was asked for more than once: lost attempts. */
  readonly turnsAskedAgain: number;
  readonly turns: number;
  readonly onceCalls: number;
  readonly repeatableCalls: number;
  /** Calls of tools that may be repeated, and were. */
  readonly repeatedCalls: number;
  readonly outcomesUnknown: number;
}

export function judge(seen: Observations, transcripts: Transcripts): Verdict {
  const once = seen.calls.filter(({ tool }) => isOnce(tool));
  const repeatable = seen.calls.filter(({ tool }) => !isOnce(tool));
  const keyOf = (call: { run: string; callId: string }): string => `${call.run}:${call.callId}`;
  const turnsAsked = seen.turns.map(({ run, turn }) => `${run}:${turn}`);
  const ended = seen.runs.filter((run) => run.endMs !== null);
  const losses = ended.flatMap((run) => {
    const loss = lossOf(run, transcripts);
    return loss === null ? [] : [{ loss, toolsLeftOut: hadNoTools(run, seen.withoutTools) }];
  });
  return {
    lost: losses.filter((one) => !one.toolsLeftOut).map(({ loss }) => loss),
    toolsLeftOut: losses.filter((one) => one.toolsLeftOut).map(({ loss }) => loss),
    unsettled: seen.runs
      .filter((run) => run.endMs === null)
      .map((run) => `${run.handle ?? `run ${run.plan.index}, which has no handle`} (${run.plan.kind})`),
    turnsDoubled: sum(ended.map((run) => doubledTurns(run, transcripts))),
    callsDoubled: repeats(once.map(keyOf)),
    effectsDoubled: repeats(
      once.filter(({ tool }) => tool !== 'wait').map((call) => `${call.run}:${call.arguments}`),
    ),
    turnsAskedAgain: repeats(turnsAsked),
    turns: new Set(turnsAsked).size,
    onceCalls: once.length,
    repeatableCalls: new Set(repeatable.map(keyOf)).size,
    repeatedCalls: repeats(repeatable.map(keyOf)),
    outcomesUnknown: sum(
      [...transcripts.values()].map((messages) => messages.filter(isUnknownOutcome).length),
    ),
  };
}

/** Whether the message tells the model that nobody knows what became of its call. */
export function isUnknownOutcome({ role, content }: TranscriptMessage): boolean {
  return (
    role === 'tool' &&
    typeof content === 'string' &&
    content.startsWith('Error: the outcome of this call is unknown')
  );
}

/** It ended as it had to, but for the calls that it could not make. */
function hadNoTools({ handle, status, plan, result }: ObservedRun, withoutTools: readonly string[]): boolean {
  return withoutTools.includes(handle ?? '') && status === 'Completed' && result === plan.answer;
}

function lossOf(run: ObservedRun, transcripts: Transcripts): string | null {
  const name = `${run.handle ?? `run ${run.plan.index}`} (${run.plan.kind})`;
  if (run.status !== run.plan.ends)
    return `${name}: ${run.status ?? 'no status'}: ${run.reason ?? 'no reason'}`;
  if (run.plan.ends === 'Cancelled') {
    return run.reason?.includes('budget exceeded') === true
      ? null
      : `${name}: ended for another reason: ${run.reason ?? 'none'}`;
  }
  if (run.result !== run.plan.answer) return `${name}: another answer than the scripted one`;
  const messages = transcripts.get(run.handle ?? '');
  if (messages === undefined) return `${name}: its transcript cannot be read`;
  const fault = transcriptFault(messages, run.plan);
  return fault === null ? null : `${name}: ${fault}`;
}

/** Where a transcript departs from the script; a turn that stands twice is told apart, see {@link doubledTurns}. */
function transcriptFault(messages: readonly TranscriptMessage[], plan: PlannedRun): string | null {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const scripted = plan.turns.flat();
  for (const [index, { tool, arguments: wanted }] of scripted.entries()) {
    const call = calls[index];
    if (call === undefined) return `call ${index + 1} of ${scripted.length} is missing`;
    if (!call.function.name.endsWith(tool) || call.function.arguments !== JSON.stringify(wanted))
      return `call ${index + 1} is another than the scripted one`;
  }
  const answers = messages.filter(({ role }) => role === 'tool').map((message) => message.tool_call_id);
  const open = calls.filter(({ id }) => !answers.includes(id));
  if (open.length > 0) return `${open.length} calls have no result`;
  if (new Set(answers).size !== answers.length) return 'a call has two results';
  return null;
}

function doubledTurns(run: ObservedRun, transcripts: Transcripts): number {
  const messages = transcripts.get(run.handle ?? '') ?? [];
  const replies = messages.filter(({ role }) => role === 'assistant').length;
  return Math.max(0, replies - (run.plan.turns.length + 1));
}

function repeats(keys: readonly string[]): number {
  return keys.length - new Set(keys).size;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
