/**
 * What an agent says in a planned run, and what the model has to say: real text whose lengths are the plan's.
 * Pure; the same plan gives the same text, so every arm gets the same work.
 *
 * `scripted`, for simulated engines: the task carries a directive (testkit/sim-engine/core/directives.ts), so
 * that each reply has exactly the planned tokens and is known in advance. `plain`, for real models: no tools,
 * replies are cut at the planned length and taken as they come, results go back as messages of the user.
 */
import { hash } from 'node:crypto';
import {
  promptTokens,
  type OfferedTool,
  type SimMessage,
} from '../../testkit/sim-engine/core/conversation.ts';
import { tokenize } from '../../testkit/sim-engine/core/tokens.ts';
import type { RunPlan, TurnPlan } from '../sim/workload.ts';
import { sharedTokens, textOfTokens } from './words.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** As `POST /v1/chat/completions` takes it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

export interface Reply {
  readonly content: string;
  readonly calls: readonly ToolCall[];
}

export interface Dialogue {
  /** Fields of a turn's request beside `messages`, `model` and those of streaming. */
  fields(turn: number): Readonly<Record<string, unknown>>;
  opening(): readonly ChatMessage[];
  /** What is added to the conversation after the reply to `turn`: the reply itself, and the tool's result. */
  after(turn: number, reply: Reply): readonly ChatMessage[];
  /** What the model must say in `turn`; null: whatever it says is right. */
  expected(turn: number): Reply | null;
}

export type DialogueKind = 'scripted' | 'plain';

/** @throws RangeError when the plan's prompt is too short for the directive that the run needs. */
export function dialogueOf(kind: DialogueKind, plan: RunPlan): Dialogue {
  return kind === 'scripted' ? scriptedDialogue(plan) : plainDialogue(plan);
}

/** Of everything the model has said, without the ids of calls, which engines choose at random. */
export function digestOf(replies: readonly Reply[]): string {
  const said = replies.map(({ content, calls }) => [
    content,
    calls.map((call) => [call.name, call.arguments]),
  ]);
  return hash('sha256', JSON.stringify(said)).slice(0, 16);
}

function turnOf(plan: RunPlan, turn: number): TurnPlan {
  const found = plan.turns[turn];
  if (found === undefined) throw new RangeError(`run ${plan.id} has no turn ${turn}`);
  return found;
}

/** Tokens of `{"query":""}`, and the one that begins a call. */
const tokensAroundQuery = tokenize('{"query":""}').length + 1;
/** Around a tool's result: the end of the reply before it, its own start and end, and the next reply's start. */
const tokensAroundResult = 4;

function expectedReply(plan: RunPlan, turn: number): Reply {
  const { promptTokens: at, outputTokens, tool } = turnOf(plan, turn);
  if (tool === null) return { content: textOfTokens(plan, at, outputTokens), calls: [] };
  const query = textOfTokens(plan, at, Math.max(1, outputTokens - tokensAroundQuery));
  return { content: '', calls: [{ id: '', name: tool.name, arguments: JSON.stringify({ query }) }] };
}

/** What the tool gives back after `turn`; the plan's difference between the two prompts. */
export function resultText(plan: RunPlan, turn: number, tokensAround = tokensAroundResult): string {
  const { promptTokens: at, outputTokens } = turnOf(plan, turn);
  const end = turnOf(plan, turn + 1).promptTokens;
  return textOfTokens(plan, at + outputTokens, Math.max(1, end - at - outputTokens - tokensAround));
}

/** Makes the simulated model call the plan's tools with queries of the planned length, then answer likewise. */
export function directiveOf(plan: RunPlan): string {
  const replies = plan.turns.map((_, turn) => expectedReply(plan, turn));
  const calls = replies.flatMap((reply) =>
    reply.calls.map((call) => ({ tool: call.name, arguments: JSON.parse(call.arguments) as unknown })),
  );
  return `[[sim ${JSON.stringify({ calls, answer: replies.at(-1)?.content ?? '' })}]]`;
}

const toolTexts: Readonly<Record<string, string>> = {
  lookup: 'Looks a word up.',
  deep_search: 'Searches at length.',
};

/** Tools as a plan may call them: `lookup` always, so that what is offered is the same for most runs. */
export function offeredTools(plan: RunPlan): readonly OfferedTool[] {
  const names = new Set(['lookup', ...plan.turns.flatMap(({ tool }) => (tool === null ? [] : [tool.name]))]);
  return [...names].toSorted().map((name) => ({
    name,
    description: toolTexts[name] ?? 'A tool.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  }));
}

function scriptedDialogue(plan: RunPlan): Dialogue {
  const tools = offeredTools(plan);
  const opening = scriptedOpening(plan, tools);
  return {
    fields: () => ({ tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    opening: () => opening,
    expected: (turn) => expectedReply(plan, turn),
    after: (turn, { content, calls }) => [
      {
        role: 'assistant',
        content: content === '' ? null : content,
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map((call) => ({
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: call.arguments },
              })),
            }),
      },
      ...calls.map((call): ChatMessage => ({
        role: 'tool',
        tool_call_id: call.id,
        content: resultText(plan, turn),
      })),
    ],
  };
}

/** A shared start is the system's message; the rest and the directive at its end are the user's. */
function scriptedOpening(plan: RunPlan, tools: readonly OfferedTool[]): readonly ChatMessage[] {
  const shared = sharedTokens(plan);
  const directive = directiveOf(plan);
  const messagesWith = (ownWords: string): ChatMessage[] => [
    ...(shared === 0 ? [] : [{ role: 'system' as const, content: textOfTokens(plan, 0, shared) }]),
    { role: 'user', content: `${ownWords} ${directive}` },
  ];
  const withoutWords = promptTokens(messagesWith('').map(asSimMessage), tools).length;
  const wanted = turnOf(plan, 0).promptTokens - withoutWords;
  if (wanted < 1) {
    throw new RangeError(
      `run ${plan.id}: a first prompt of ${turnOf(plan, 0).promptTokens} tokens is too short for its directive; it needs ${withoutWords + 1}`,
    );
  }
  return messagesWith(textOfTokens(plan, shared, wanted));
}

function asSimMessage({ role, content }: ChatMessage): SimMessage {
  return { role, text: content ?? '', toolCalls: [], toolCallId: null };
}

function plainDialogue(plan: RunPlan): Dialogue {
  const shared = sharedTokens(plan);
  const own = turnOf(plan, 0).promptTokens - shared;
  return {
    // The second is how llama.cpp, vLLM and SGLang are told to write on until the limit.
    fields: (turn) => ({ max_tokens: turnOf(plan, turn).outputTokens, ignore_eos: true }),
    opening: () => [
      ...(shared === 0 ? [] : [{ role: 'system' as const, content: textOfTokens(plan, 0, shared) }]),
      { role: 'user', content: textOfTokens(plan, shared, own) },
    ],
    expected: () => null,
    after: (turn, { content }) => [
      { role: 'assistant', content },
      ...(turnOf(plan, turn).tool === null
        ? []
        : [{ role: 'user' as const, content: resultText(plan, turn, 0) }]),
    ],
  };
}
