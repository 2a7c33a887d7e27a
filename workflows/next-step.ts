/**
 * What a run does next: its state and the result of its last step in, the new state and the next step
 * out. Pure; the workflow only carries steps out. Approvals will be one more kind of step.
 */
import type { ModelTurnResult, TurnCall } from '../activities/activity-types.ts';
import type { ChatMessage, ToolImage } from '../contracts/chat-messages.ts';
import { runFailureTypes } from '../contracts/run-names.ts';
import type { ListedTool } from '../contracts/tool-listing.ts';
import { textDigest } from '../contracts/transcript-digest.ts';
import type { RunState } from './run-state.ts';
import { cutText } from './text.ts';
import { appendMessages, fitTranscript, tellTooLarge } from './transcript.ts';

/** So often may a model ask for the same name that is no tool; then the run ends. */
export const unknownNameLimit = 6;

/** Made-up names that are remembered, the latest ones. */
const rememberedNames = 200;

/**
 * Calls of one reply that are run: between two of them a run cannot go on in a new execution, and their
 * results have to fit into one history.
 */
export const callsPerReplyLimit = 50;

/** A call of the last reply, in its order: to be run, or answered with a text at once. */
export type PlannedCall =
  | {
      readonly kind: 'run';
      readonly id: string;
      readonly name: string;
      readonly tool: ListedTool;
      readonly arguments: string;
    }
  | { readonly kind: 'refuse'; readonly id: string; readonly name: string; readonly text: string };

export interface AnsweredCall {
  readonly id: string;
  readonly content: string;
  /** Absent: none. */
  readonly images?: readonly ToolImage[];
  readonly failed: boolean;
  readonly toolMs: number;
}

export type LastResult =
  /** By the workflow execution before this one, between two steps. */
  | { readonly kind: 'continued' }
  | { readonly kind: 'tools-resolved'; readonly tools: readonly ListedTool[] }
  | { readonly kind: 'turn'; readonly turn: ModelTurnResult }
  | { readonly kind: 'tools'; readonly answers: readonly AnsweredCall[] };

export type Step =
  | { readonly kind: 'run-turn'; readonly turn: number; readonly offerTools: boolean }
  | { readonly kind: 'run-tools'; readonly calls: readonly PlannedCall[] }
  | { readonly kind: 'finish'; readonly text: string; readonly cut: boolean }
  | { readonly kind: 'fail'; readonly type: string; readonly reason: string };

export interface Advance {
  readonly state: RunState;
  readonly step: Step;
}

export function advance(state: RunState, last: LastResult): Advance {
  switch (last.kind) {
    case 'continued':
      return nextTurn(state);
    case 'tools-resolved':
      return nextTurn({ ...state, tools: last.tools, toolsDigest: textDigest(JSON.stringify(last.tools)) });
    case 'turn':
      return afterTurn(state, last.turn);
    case 'tools':
      return afterTools(state, last.answers);
  }
}

function toolBudgetSpent(state: RunState): boolean {
  return state.counters.toolCalls >= state.input.maxToolCalls;
}

function nextTurn(state: RunState): Advance {
  const transcript = fitTranscript(state.transcript);
  if (transcript === null) {
    return fail(state, runFailureTypes.tooLarge, tellTooLarge(state.transcript));
  }
  const turn = state.counters.turns + 1;
  return {
    state: { ...state, transcript, phase: `model turn ${turn}` },
    step: { kind: 'run-turn', turn, offerTools: state.tools.length > 0 && !toolBudgetSpent(state) },
  };
}

function afterTurn(before: RunState, turn: ModelTurnResult): Advance {
  const spent = toolBudgetSpent(before);
  const message = spent ? withoutCalls(turn.message) : turn.message;
  const { counters } = before;
  const state: RunState = {
    ...before,
    model: turn.model,
    transcript: appendMessages(before.transcript, [message]),
    counters: {
      ...counters,
      turns: counters.turns + 1,
      promptTokens: counters.promptTokens + turn.promptTokens,
      completionTokens: counters.completionTokens + turn.completionTokens,
      cachedTokens: counters.cachedTokens + turn.cachedTokens,
      modelMs: counters.modelMs + turn.modelMs,
      heldMs: counters.heldMs + turn.heldMs,
    },
  };
  if (turn.calls.length > 0 && !spent) return toolStep(state, turn);
  return answerStep(state, turn);
}

function toolStep(before: RunState, { calls, message }: ModelTurnResult): Advance {
  const unknownNames = calls
    .filter((call) => call.refusal?.kind === 'unknown-tool')
    .reduce<RunState['unknownNames']>(countName, before.unknownNames);
  const names = [...new Set(calls.map((call) => call.name))];
  const state: RunState = { ...before, unknownNames, phase: cutText(`tools: ${names.join(', ')}`, 200) };
  const repeated = names.find((name) => timesAsked(unknownNames, name) >= unknownNameLimit);
  if (repeated !== undefined) {
    return fail(
      state,
      runFailureTypes.unknownTool,
      `the model asked ${timesAsked(unknownNames, repeated)} times for the tool '${cutText(repeated, 64)}', which does not exist`,
    );
  }
  const remaining = state.input.maxToolCalls - state.counters.toolCalls;
  const written = new Map(message.tool_calls?.map((call) => [call.id, call.function.arguments]));
  const planned = calls.map((call, index) =>
    planCall(state, { arguments: written.get(call.id) ?? '{}', ...call }, index, remaining),
  );
  return { state, step: { kind: 'run-tools', calls: planned } };
}

function countName(counts: RunState['unknownNames'], { name }: TurnCall): RunState['unknownNames'] {
  const { [keyOf(name)]: _before, ...others } = counts;
  const kept = Object.entries(others).slice(1 - rememberedNames);
  return Object.fromEntries([...kept, [keyOf(name), timesAsked(counts, name) + 1]]);
}

/** A name may be any text, that of a field which every object has too. */
function timesAsked(counts: RunState['unknownNames'], name: string): number {
  const key = keyOf(name);
  return Object.hasOwn(counts, key) ? (counts[key] ?? 0) : 0;
}

/** A made-up name may be long; a number would not keep its place among the others. */
function keyOf(name: string): string {
  return `name ${cutText(name, 64)}`;
}

function planCall(
  state: RunState,
  call: TurnCall & { readonly arguments: string },
  index: number,
  remaining: number,
): PlannedCall {
  const { id, name } = call;
  if (call.refusal !== undefined) return { kind: 'refuse', id, name, text: call.refusal.text };
  if (index >= callsPerReplyLimit) {
    return {
      kind: 'refuse',
      id,
      name,
      text: `Error: this call was not run: only the first ${callsPerReplyLimit} calls of a reply are. Make it again if you still need it.`,
    };
  }
  if (index >= remaining) {
    return {
      kind: 'refuse',
      id,
      name,
      text: `Error: this call was not run: the run's ${state.input.maxToolCalls} tool calls are used up. Answer with what you have.`,
    };
  }
  const tool = state.tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return { kind: 'refuse', id, name, text: `Error: there is no tool '${name}'.` };
  return { kind: 'run', id, name, tool, arguments: call.arguments };
}

function afterTools(state: RunState, answers: readonly AnsweredCall[]): Advance {
  const { counters } = state;
  const results = answers.map((answer): ChatMessage => ({
    role: 'tool',
    tool_call_id: answer.id,
    content: answer.content,
    ...(answer.images === undefined ? {} : { images: [...answer.images] }),
  }));
  return nextTurn({
    ...state,
    transcript: appendMessages(state.transcript, results),
    counters: {
      ...counters,
      toolCalls: counters.toolCalls + answers.length,
      failedToolCalls: counters.failedToolCalls + answers.filter((answer) => answer.failed).length,
      toolMs: counters.toolMs + answers.reduce((sum, answer) => sum + answer.toolMs, 0),
    },
  });
}

/** A reply without calls that count: the answer, or the reason why there is none. */
function answerStep(state: RunState, turn: ModelTurnResult): Advance {
  const text = turn.message.content ?? '';
  const noAnswer = (reason: string): Advance => fail(state, runFailureTypes.noAnswer, reason);
  if (turn.finishReason === 'content_filter')
    return noAnswer('the engine withheld the answer (content_filter)');
  if (text.trim() !== '')
    return { state, step: { kind: 'finish', text, cut: turn.finishReason === 'length' } };
  if (turn.finishReason === 'length') {
    return noAnswer(
      `the model used up its ${turn.completionTokens} tokens without answering; raise maxTokens (now ${state.input.maxTokens})`,
    );
  }
  if (turn.calls.length > 0) {
    return noAnswer(
      `the model called tools again after its ${state.input.maxToolCalls} tool calls were used up, and gave no answer`,
    );
  }
  if (turn.finishReason === 'tool_calls') return noAnswer('the model announced tool calls and sent none');
  return { state, step: { kind: 'finish', text: '', cut: false } };
}

function withoutCalls(message: ModelTurnResult['message']): ModelTurnResult['message'] {
  return { role: 'assistant', content: message.content };
}

function fail(state: RunState, type: string, reason: string): Advance {
  return { state, step: { kind: 'fail', type, reason } };
}
