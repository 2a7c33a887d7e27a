/**
 * The JSON of Anthropic's messages: events of a stream, whole replies. `input_tokens` counts what was not
 * in the cache, as Anthropic does. Arguments that are no JSON object come whole in a stream; in a body, that
 * has no place for them, the input is empty.
 */
import type { Piece } from '../core/conversation.ts';
import type { ReplyPlan } from '../core/script.ts';
import { namedEvent, type ReplyUsage, type ReplyWriter } from './api.ts';
import { blockOf, callsOf, startsBlock, textOf, type NamedCall } from './generative-reply.ts';

export interface MessagesReply {
  readonly id: string;
  readonly model: string;
  readonly plan: ReplyPlan;
  readonly calls: readonly NamedCall[];
}

const stopReasons = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens' } as const;

export function messagesWriter({ id, model, plan, calls }: MessagesReply): ReplyWriter {
  const { pieces, finishReason } = plan;
  const message = (content: readonly object[], stopReason: string | null, usage: ReplyUsage): object => ({
    id,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: usageOf(usage),
  });
  const stop = (index: number): readonly string[] => [
    namedEvent('content_block_stop', { index: blockOf(pieces, index) }),
  ];
  return {
    opensEarly: false,
    opening: (usage) => [
      namedEvent('message_start', { message: message([], null, usage) }),
      namedEvent('ping', {}),
    ],
    token(_sequence, index) {
      const piece = pieces[index];
      if (piece === undefined) return [];
      const block = blockOf(pieces, index);
      const starts = startsBlock(pieces, index);
      return [
        ...(starts && index > 0 ? stop(index - 1) : []),
        ...(starts ? [startEvent(block, piece, calls)] : []),
        ...deltaEvents(block, piece),
      ];
    },
    sequenceEnd: () => stop(pieces.length - 1),
    closing: (usage) => [
      namedEvent('message_delta', {
        delta: { stop_reason: stopReasons[finishReason], stop_sequence: null },
        usage: usageOf(usage),
      }),
      namedEvent('message_stop', {}),
    ],
    body: (usage) => message(blocksOf(pieces, calls), stopReasons[finishReason], usage),
  };
}

function startEvent(block: number, piece: Piece, calls: readonly NamedCall[]): string {
  const call = piece.kind === 'text' ? null : calls[piece.index];
  const content_block =
    call === null
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: call?.id ?? '', name: call?.name ?? '', input: {} };
  return namedEvent('content_block_start', { index: block, content_block });
}

function deltaEvents(block: number, piece: Piece): readonly string[] {
  if (piece.kind === 'call') return [];
  const delta =
    piece.kind === 'text'
      ? { type: 'text_delta', text: piece.text }
      : { type: 'input_json_delta', partial_json: piece.text };
  return [namedEvent('content_block_delta', { index: block, delta })];
}

function blocksOf(pieces: readonly Piece[], calls: readonly NamedCall[]): readonly object[] {
  const text = textOf(pieces);
  return [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...callsOf(pieces, calls).map((call) => ({
      type: 'tool_use',
      id: call.id,
      name: call.name,
      input: parsedInput(call.arguments),
    })),
  ];
}

function parsedInput(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function usageOf({ promptTokens, cachedTokens, outputTokens }: ReplyUsage): object {
  return {
    input_tokens: promptTokens - (cachedTokens ?? 0),
    ...(cachedTokens === null
      ? {}
      : { cache_creation_input_tokens: 0, cache_read_input_tokens: cachedTokens }),
    output_tokens: outputTokens,
  };
}
