/** The JSON of OpenAI's responses: the events of a stream in their order, whole responses. */
import type { Piece } from '../core/conversation.ts';
import type { ReplyPlan } from '../core/script.ts';
import { namedEvent, nowSeconds, type ReplyUsage, type ReplyWriter } from './api.ts';
import { blockOf, callsOf, startsBlock, textOf, type NamedCall } from './generative-reply.ts';

export interface ResponsesCall extends NamedCall {
  readonly itemId: string;
  readonly namespace: string | null;
}

export interface ResponsesReply {
  readonly id: string;
  /** What was asked, repeated in the reply. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly plan: ReplyPlan;
  readonly calls: readonly ResponsesCall[];
  /** Of the item that holds the text. */
  readonly messageId: string;
  /** The whole reply was produced. */
  readonly onEnd: () => void;
}

export function responsesWriter(reply: ResponsesReply): ReplyWriter {
  const { pieces } = reply.plan;
  const incomplete = reply.plan.finishReason === 'length';
  const status = incomplete ? 'incomplete' : 'completed';
  const items = itemsOf(reply, status);
  const createdAt = nowSeconds();
  let sequenceNumber = 0;
  const event = (type: string, fields: object): string => {
    sequenceNumber += 1;
    return namedEvent(type, { ...fields, sequence_number: sequenceNumber - 1 });
  };
  const itemEnd = (index: number): readonly string[] => {
    const item = items[blockOf(pieces, index)];
    return item === undefined ? [] : endOfItem(item, blockOf(pieces, index), event);
  };
  const finished = (usage: ReplyUsage): object => {
    reply.onEnd();
    return { ...responseHead(reply, createdAt, status), output: items, usage: usageOf(usage) };
  };
  return {
    opensEarly: true,
    opening() {
      const response = { ...responseHead(reply, createdAt, 'in_progress'), output: [], usage: null };
      return [event('response.created', { response }), event('response.in_progress', { response })];
    },
    token(_sequence, index) {
      const piece = pieces[index];
      const block = blockOf(pieces, index);
      const item = items[block];
      if (piece === undefined || item === undefined) return [];
      return [
        ...(startsBlock(pieces, index) && index > 0 ? itemEnd(index - 1) : []),
        ...(startsBlock(pieces, index) ? startOfItem(item, block, event) : []),
        ...deltaOf(piece, item, block, event),
      ];
    },
    sequenceEnd: () => itemEnd(pieces.length - 1),
    closing: (usage) => [event(`response.${status}`, { response: finished(usage) })],
    body: finished,
  };
}

type Event = (type: string, fields: object) => string;

type Item =
  | {
      readonly id: string;
      readonly type: 'message';
      readonly role: 'assistant';
      readonly status: string;
      readonly content: readonly TextPart[];
    }
  | {
      readonly id: string;
      readonly type: 'function_call';
      readonly call_id: string;
      readonly name: string;
      readonly namespace?: string;
      readonly arguments: string;
      readonly status: string;
    };

interface TextPart {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly never[];
  readonly logprobs: readonly never[];
}

function textPart(text: string): TextPart {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** The items as they end; only the last one can be cut short. */
function itemsOf({ plan, calls, messageId }: ResponsesReply, lastStatus: string): readonly Item[] {
  const text = textOf(plan.pieces);
  const made = callsOf(plan.pieces, calls);
  const statusOf = (last: boolean): string => (last ? lastStatus : 'completed');
  const message: Item = {
    id: messageId,
    type: 'message',
    role: 'assistant',
    status: statusOf(made.length === 0),
    content: [textPart(text)],
  };
  return [
    ...(text === '' ? [] : [message]),
    ...made.map(({ id, itemId, namespace, name, arguments: written }, index): Item => ({
      id: itemId,
      type: 'function_call',
      call_id: id,
      name,
      ...(namespace === null ? {} : { namespace }),
      arguments: written,
      status: statusOf(index === made.length - 1),
    })),
  ];
}

function startOfItem(item: Item, block: number, event: Event): readonly string[] {
  const begun = { ...item, status: 'in_progress' };
  const empty = item.type === 'message' ? { ...begun, content: [] } : { ...begun, arguments: '' };
  return [
    event('response.output_item.added', { output_index: block, item: empty }),
    ...(item.type === 'message'
      ? [event('response.content_part.added', { ...partPlace(item, block), part: textPart('') })]
      : []),
  ];
}

function partPlace(item: Item, block: number): object {
  return { item_id: item.id, output_index: block, content_index: 0 };
}

function deltaOf(piece: Piece, item: Item, block: number, event: Event): readonly string[] {
  if (piece.kind === 'call') return [];
  return [
    piece.kind === 'text'
      ? event('response.output_text.delta', { ...partPlace(item, block), delta: piece.text, logprobs: [] })
      : event('response.function_call_arguments.delta', {
          item_id: item.id,
          output_index: block,
          delta: piece.text,
        }),
  ];
}

function endOfItem(item: Item, block: number, event: Event): readonly string[] {
  const done = (): string => event('response.output_item.done', { output_index: block, item });
  if (item.type === 'message') {
    const [part = textPart('')] = item.content;
    const place = partPlace(item, block);
    return [
      event('response.output_text.done', { ...place, text: part.text, logprobs: [] }),
      event('response.content_part.done', { ...place, part }),
      done(),
    ];
  }
  const fields = { item_id: item.id, output_index: block, name: item.name, arguments: item.arguments };
  return [event('response.function_call_arguments.done', fields), done()];
}

function responseHead({ id, request, model }: ResponsesReply, createdAt: number, status: string): object {
  const given = (name: string, fallback: unknown = null): unknown => request[name] ?? fallback;
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status,
    background: false,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: given('instructions'),
    max_output_tokens: given('max_output_tokens'),
    metadata: given('metadata', {}),
    model,
    parallel_tool_calls: given('parallel_tool_calls', true),
    previous_response_id: given('previous_response_id'),
    reasoning: given('reasoning', { effort: null, summary: null }),
    service_tier: 'auto',
    store: given('store', true),
    temperature: given('temperature', 1),
    text: given('text', { format: { type: 'text' } }),
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_p: given('top_p', 1),
    truncation: given('truncation', 'disabled'),
    user: given('user'),
  };
}

function usageOf({ promptTokens, cachedTokens, outputTokens }: ReplyUsage): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: promptTokens + outputTokens,
  };
}
