/**
 * Puts the chunks of a streamed chat completion together. Pure, and lenient: engines leave out the
 * index of a tool call, repeat index 0, send empty names late or first, and put usage on any chunk.
 */
import { endsInside } from '../tool-calls/parse-arguments.ts';

/** One chunk as far as it is read here; everything may be missing or null. */
export interface ReplyChunk {
  readonly model?: string | null;
  readonly choices?:
    | readonly {
        readonly delta?: {
          readonly content?: unknown;
          readonly tool_calls?: readonly ToolCallDelta[] | null;
        } | null;
        readonly finish_reason?: string | null;
      }[]
    | null;
  readonly usage?: {
    readonly prompt_tokens?: number | null;
    readonly completion_tokens?: number | null;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  } | null;
}

export interface ToolCallDelta {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}

export interface CollectedCall {
  readonly id: string;
  readonly name: string;
  /** Argument text as the engine sent it. */
  readonly arguments: string;
}

export interface CollectedReply {
  readonly content: string;
  readonly calls: readonly CollectedCall[];
  readonly finishReason: string | null;
  readonly model: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

export interface ReplyCollector {
  /** @returns UTF-16 units of content, names and arguments so far. */
  add(chunk: ReplyChunk): number;
  reply(): CollectedReply;
}

interface OpenCall {
  id: string;
  name: string;
  arguments: string;
  /** Index the engine gave it; null: none. */
  index: number | null;
}

export function createReplyCollector(): ReplyCollector {
  let content = '';
  let finishReason: string | null = null;
  let model: string | null = null;
  let usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  let size = 0;
  const calls: OpenCall[] = [];
  return {
    add(chunk) {
      if (typeof chunk.model === 'string' && chunk.model !== '') model = chunk.model;
      if (chunk.usage !== undefined && chunk.usage !== null) {
        usage = {
          promptTokens: count(chunk.usage.prompt_tokens) ?? usage.promptTokens,
          completionTokens: count(chunk.usage.completion_tokens) ?? usage.completionTokens,
          cachedTokens: count(chunk.usage.prompt_tokens_details?.cached_tokens) ?? usage.cachedTokens,
        };
      }
      const choice = chunk.choices?.[0];
      if (choice === undefined) return size;
      if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '')
        finishReason = choice.finish_reason;
      const text = choice.delta?.content;
      if (typeof text === 'string') {
        content += text;
        size += text.length;
      }
      for (const delta of choice.delta?.tool_calls ?? []) size += addCallDelta(calls, delta);
      return size;
    },
    reply: () => ({
      content,
      calls: calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text })),
      finishReason,
      model,
      ...usage,
    }),
  };
}

/** @returns UTF-16 units added. */
function addCallDelta(calls: OpenCall[], delta: ToolCallDelta): number {
  const id = delta.id ?? '';
  const name = delta.function?.name ?? '';
  const text = argumentText(delta.function?.arguments);
  const index = typeof delta.index === 'number' ? delta.index : null;
  let call = continuedCall(calls, index, id, name);
  if (call === undefined) {
    call = { id: '', name: '', arguments: '', index };
    calls.push(call);
  }
  if (call.id === '') call.id = id;
  if (call.name === '') call.name = name;
  call.arguments += text;
  return text.length + name.length;
}

/** The open call that a delta goes on with; undefined: it begins a new one. */
function continuedCall(
  calls: readonly OpenCall[],
  index: number | null,
  id: string,
  name: string,
): OpenCall | undefined {
  if (id !== '') {
    const same = calls.findLast((call) => call.id === id && (index === null || call.index === index));
    if (same !== undefined) return same;
  }
  const candidate = index === null ? calls.at(-1) : calls.findLast((call) => call.index === index);
  if (candidate === undefined) return undefined;
  if (id !== '') return candidate.id === '' && !isComplete(candidate) ? candidate : undefined;
  // Without an id only a name on a call that is complete already tells that another one begins.
  return name !== '' && candidate.name !== '' && isComplete(candidate) ? undefined : candidate;
}

function isComplete(call: OpenCall): boolean {
  return call.arguments.trim() !== '' && !endsInside(call.arguments);
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

function count(value: number | null | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null;
}
