/**
 * A reply of a model in the exact shape of OpenAI's Responses API: as the events of a stream and as one
 * JSON body. Shape from the API's public reference ("Streaming events"). Pure.
 */

export type OutputItem =
  | { readonly type: 'message'; readonly text: string }
  | {
      readonly type: 'function_call';
      readonly callId: string;
      readonly name: string;
      /** Codex groups the tools of an MCP server under one; absent: a tool of its own. */
      readonly namespace?: string;
      readonly input: object;
    };

export interface ResponsesReply {
  readonly id: string;
  readonly model: string;
  readonly output: readonly OutputItem[];
  readonly inputTokens: number;
  /** How many of them came from the cache; absent: none. */
  readonly cachedTokens?: number;
}

type Fields = Readonly<Record<string, unknown>>;
type StreamEvent = { readonly type: string } & Fields;

const pieceLength = 16;

function piecesOf(text: string): string[] {
  const characters = Array.from(text);
  return Array.from({ length: Math.ceil(characters.length / pieceLength) }, (_, index) =>
    characters.slice(index * pieceLength, (index + 1) * pieceLength).join(''),
  );
}

const textPart = (text: string): Fields => ({ type: 'output_text', text, annotations: [] });

/** An item as it stands in a finished response. */
function wholeItem(item: OutputItem, id: string): Fields {
  if (item.type === 'message') {
    return { id, type: 'message', role: 'assistant', status: 'completed', content: [textPart(item.text)] };
  }
  const { callId, name, namespace, input } = item;
  return {
    id,
    type: 'function_call',
    status: 'completed',
    call_id: callId,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    arguments: JSON.stringify(input),
  };
}

function itemEvents(item: OutputItem, outputIndex: number, id: string): StreamEvent[] {
  const whole = wholeItem(item, id);
  const at = { item_id: id, output_index: outputIndex };
  const [empty, between] =
    item.type === 'message'
      ? [{ content: [] }, textEvents(item.text, at)]
      : [{ arguments: '' }, callEvents(whole, at)];
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...whole, ...empty, status: 'in_progress' },
    },
    ...between,
    { type: 'response.output_item.done', output_index: outputIndex, item: whole },
  ];
}

function textEvents(text: string, item: Fields): StreamEvent[] {
  const at = { ...item, content_index: 0 };
  return [
    { type: 'response.content_part.added', ...at, part: textPart('') },
    ...piecesOf(text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part: textPart(text) },
  ];
}

function callEvents(whole: Fields, at: Fields): StreamEvent[] {
  const text = String(whole['arguments']);
  return [
    ...piecesOf(text).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, name: whole['name'], arguments: text },
  ];
}

/** Ids of items are those of the response with a number, unique in a conversation. */
const itemId = (reply: ResponsesReply, index: number): string => `item_${reply.id}_${index}`;

/** The body of an answer that was not asked to stream. */
export function wholeResponse(reply: ResponsesReply): Fields {
  // Tokens are not counted here: one for four characters stands for them.
  const outputTokens = Math.ceil(JSON.stringify(reply.output).length / 4);
  return {
    ...responseHead(reply),
    status: 'completed',
    output: reply.output.map((item, index) => wholeItem(item, itemId(reply, index))),
    usage: {
      input_tokens: reply.inputTokens,
      input_tokens_details: { cached_tokens: reply.cachedTokens ?? 0 },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: reply.inputTokens + outputTokens,
    },
  };
}

function responseHead({ id, model }: ResponsesReply): Fields {
  return {
    id,
    object: 'response',
    created_at: 0,
    model,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
  };
}

function streamEvents(reply: ResponsesReply): StreamEvent[] {
  const started = { ...responseHead(reply), status: 'in_progress', output: [], usage: null };
  return [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...reply.output.flatMap((item, index) => itemEvents(item, index, itemId(reply, index))),
    { type: 'response.completed', response: wholeResponse(reply) },
  ];
}

/** The body of a streamed answer (`text/event-stream`), event by event; this API has no `[DONE]`. */
export function streamedResponse(reply: ResponsesReply): string[] {
  return streamEvents(reply).map(
    ({ type, ...rest }, index) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`,
  );
}
