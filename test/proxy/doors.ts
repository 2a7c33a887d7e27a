/** The endpoints that carry a run's turns, as a client speaks to each and as an engine answers in two pieces. */
import type { EngineCall } from './scripted-engine.ts';
import { chatBody, chatPath, chunk, sse } from './stack.ts';

export interface Door {
  readonly name: string;
  readonly path: string;
  readonly body: string;
  readonly streams: boolean;
  readonly contentType: string;
  /** The beginning of a reply, and what makes it whole. */
  readonly first: string;
  readonly rest: string;
}

const eventStream = 'text/event-stream';

/** Events with their type on a line of its own, as the Responses and Messages APIs have them. */
function typed(...events: { readonly type: string; readonly [field: string]: unknown }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

export const chatStream: Door = {
  name: 'chat, streamed',
  path: chatPath,
  body: chatBody({ stream: true }),
  streams: true,
  contentType: eventStream,
  first: sse(chunk({ role: 'assistant', content: 'one' })),
  rest: sse(chunk({ content: ' two' }), chunk({}, 'stop'), '[DONE]'),
};

export const chatWhole: Door = {
  name: 'chat, whole',
  path: chatPath,
  body: chatBody(),
  streams: false,
  contentType: 'application/json',
  first: '{"choices":[{"index":0,"finish_reason":"stop","message":',
  rest: '{"role":"assistant","content":"one two"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}',
};

const completionsStream: Door = {
  name: 'completions, streamed',
  path: '/v1/completions',
  body: JSON.stringify({ model: 'm-test', prompt: 'go', stream: true }),
  streams: true,
  contentType: eventStream,
  first: sse({ choices: [{ index: 0, text: 'one', finish_reason: null }] }),
  rest: sse({ choices: [{ index: 0, text: ' two', finish_reason: 'stop' }] }, '[DONE]'),
};

const messagesStream: Door = {
  name: 'messages, streamed',
  path: '/v1/messages',
  body: JSON.stringify({
    model: 'm-test',
    max_tokens: 9,
    stream: true,
    messages: [{ role: 'user', content: 'go' }],
  }),
  streams: true,
  contentType: eventStream,
  first: typed(
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
  ),
  rest: typed(
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ),
};

const responsesStream: Door = {
  name: 'responses, streamed',
  path: '/v1/responses',
  body: JSON.stringify({ model: 'm-test', input: 'go', stream: true }),
  streams: true,
  contentType: eventStream,
  first: typed(
    { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', output_index: 0, delta: 'one' },
  ),
  rest: typed({
    type: 'response.completed',
    response: {
      id: 'r',
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'one' }] }],
      usage: { input_tokens: 3, output_tokens: 2 },
    },
  }),
};

/** Chat, on which every failure is tried. */
export const chatDoors: readonly Door[] = [chatStream, chatWhole];

/** The others, which share the path of a turn. */
export const otherDoors: readonly Door[] = [completionsStream, messagesStream, responsesStream];

/** Makes a reply that has begun whole, after a time. */
export function finishAmid(call: EngineCall | undefined, door: Door, afterMs: number): void {
  setTimeout(() => {
    call?.write(door.rest);
    call?.end();
  }, afterMs);
}
