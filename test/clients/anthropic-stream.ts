/**
 * A reply of a model in the exact shape of Anthropic's Messages API: as the events of a stream and as
 * one JSON body. Shape from the API's public reference ("Streaming Messages"). Pure.
 */

export type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object };

export interface AnthropicReply {
  readonly id: string;
  readonly model: string;
  readonly blocks: readonly Block[];
  readonly inputTokens: number;
  /** How many of them came from the cache; absent: none. */
  readonly cachedTokens?: number;
}

type StreamEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

const pieceLength = 16;

function piecesOf(text: string): string[] {
  const characters = Array.from(text);
  return Array.from({ length: Math.ceil(characters.length / pieceLength) }, (_, index) =>
    characters.slice(index * pieceLength, (index + 1) * pieceLength).join(''),
  );
}

const stopReason = (blocks: readonly Block[]): string =>
  blocks.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';

function blockEvents(block: Block, index: number): StreamEvent[] {
  const start = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
  const deltas =
    block.type === 'text'
      ? piecesOf(block.text).map((text) => ({ type: 'text_delta', text }))
      : ['', ...piecesOf(JSON.stringify(block.input))].map((json) => ({
          type: 'input_json_delta',
          partial_json: json,
        }));
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** This API counts cached tokens apart from the others. */
const inputUsage = ({ inputTokens, cachedTokens = 0 }: AnthropicReply): object => ({
  input_tokens: inputTokens - cachedTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cachedTokens,
});

/** Tokens are not counted here: one per block of four characters stands for them. */
const outputTokens = (blocks: readonly Block[]): number => Math.ceil(JSON.stringify(blocks).length / 4);

function streamEvents(reply: AnthropicReply): StreamEvent[] {
  const { id, model, blocks } = reply;
  return [
    {
      type: 'message_start',
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...inputUsage(reply), output_tokens: 1 },
      },
    },
    { type: 'ping' },
    ...blocks.flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(blocks), stop_sequence: null },
      usage: { output_tokens: outputTokens(blocks) },
    },
    { type: 'message_stop' },
  ];
}

/** The body of a streamed answer (`text/event-stream`), event by event. */
export function streamedReply(reply: AnthropicReply): string[] {
  return streamEvents(reply).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** The body of an answer that was not asked to stream. */
export function wholeReply(reply: AnthropicReply): object {
  const { id, model, blocks } = reply;
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: blocks,
    stop_reason: stopReason(blocks),
    stop_sequence: null,
    usage: { ...inputUsage(reply), output_tokens: outputTokens(blocks) },
  };
}
