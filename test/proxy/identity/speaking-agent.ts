/**
 * An agent with a loop of its own that names no run, as each API with tools lets it speak: it sends its whole
 * conversation each time. Requests are read by the real descriptors and replies by the real readers, so a
 * test sees what the proxy would recognise.
 */
import type { ApiDescriptor } from '../../../proxy/apis/api-descriptor.ts';
import { chatCompletions } from '../../../proxy/apis/chat-completions.ts';
import { messages } from '../../../proxy/apis/messages.ts';
import { responses } from '../../../proxy/apis/responses.ts';
import type { ReplyFacts } from '../../../proxy/reply/reply-facts.ts';

export type Json = Record<string, unknown>;

/** A call of the tool `step`. Its id is whatever an engine makes of it. */
export interface Call {
  readonly id: unknown;
  readonly n: number;
}

/** One API: how its conversation is written and how an engine answers with calls. */
export interface Speech {
  readonly name: string;
  readonly api: ApiDescriptor;
  user(text: string): Json[];
  /** A reply with text, as it is sent back. */
  reply(text: string): Json[];
  /** A reply with calls, as it is sent back. */
  calls(calls: readonly Call[]): Json[];
  results(calls: readonly Call[]): Json[];
  request(items: readonly Json[]): Json;
  /** The whole body of an engine's reply with calls. */
  replyBody(calls: readonly Call[]): Json;
}

const argumentsOf = ({ n }: Call): string => JSON.stringify({ n });

const chatMessage = (calls: readonly Call[]): Json => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: 'step', arguments: argumentsOf(call) },
  })),
});

const chat: Speech = {
  name: 'chat completions',
  api: chatCompletions,
  user: (content) => [{ role: 'user', content }],
  reply: (content) => [{ role: 'assistant', content }],
  calls: (calls) => [chatMessage(calls)],
  results: (calls) => calls.map(({ id, n }) => ({ role: 'tool', tool_call_id: id, content: `result ${n}` })),
  request: (items) => ({ model: 'm-test', messages: items }),
  replyBody: (calls) => ({ choices: [{ finish_reason: 'tool_calls', message: chatMessage(calls) }] }),
};

const functionCalls = (calls: readonly Call[]): Json[] => [
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'opaque' },
  ...calls.map((call) => ({
    type: 'function_call',
    name: 'step',
    call_id: call.id,
    arguments: argumentsOf(call),
  })),
];

const responsesSpeech: Speech = {
  name: 'responses',
  api: responses,
  user: (text) => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  reply: (text) => [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
  calls: functionCalls,
  results: (calls) =>
    calls.map(({ id, n }) => ({ type: 'function_call_output', call_id: id, output: `result ${n}` })),
  request: (input) => ({ model: 'm-test', store: false, instructions: 'Work in steps.', input }),
  replyBody: (calls) => ({ object: 'response', status: 'completed', output: functionCalls(calls) }),
};

const toolUses = (calls: readonly Call[]): Json[] =>
  calls.map(({ id, n }) => ({ type: 'tool_use', id, name: 'step', input: { n } }));

const messagesSpeech: Speech = {
  name: 'messages',
  api: messages,
  user: (content) => [{ role: 'user', content }],
  reply: (text) => [{ role: 'assistant', content: [{ type: 'text', text }] }],
  calls: (calls) => [{ role: 'assistant', content: toolUses(calls) }],
  results: (calls) => [
    {
      role: 'user',
      content: calls.map(({ id, n }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: [{ type: 'text', text: `result ${n}` }],
      })),
    },
  ],
  request: (items) => ({
    model: 'm-test',
    max_tokens: 100,
    system: [{ type: 'text', text: 'Work in steps.' }],
    messages: items,
  }),
  replyBody: (calls) => ({ type: 'message', stop_reason: 'tool_use', content: toolUses(calls) }),
};

/** The three APIs that call tools. */
export const speeches: readonly Speech[] = [chat, responsesSpeech, messagesSpeech];

export function factsOf(api: ApiDescriptor, request: Json, reply: Json): ReplyFacts {
  const reader = api.readRequest(Buffer.from(JSON.stringify(request))).bodyReader();
  reader.feed(Buffer.from(JSON.stringify(reply)));
  reader.end();
  return reader.facts();
}
