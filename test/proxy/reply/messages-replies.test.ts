import { describe, expect, it } from 'vitest';
import { messagesDialect } from '../../../proxy/reply/messages-replies.ts';
import type { ReplyFacts } from '../../../proxy/reply/reply-facts.ts';
import { caseFile } from '../../case-file.ts';
import { namedEvents, readBody, readStream, recut, summary, type Json } from './read-reply.ts';

const start = (usage: Json = { input_tokens: 10, output_tokens: 1 }): Json => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null, usage },
});
const block = (content: Json, index = 0): Json => ({
  type: 'content_block_start',
  index,
  content_block: content,
});
const delta = (value: Json, index = 0): Json => ({ type: 'content_block_delta', index, delta: value });
const stop = (index = 0): Json => ({ type: 'content_block_stop', index });
const end = (reason: string, usage: Json = { output_tokens: 7 }): Json => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null },
  usage,
});
const over = { type: 'message_stop' };
const ping = { type: 'ping' };
const text = (words: string): Json => delta({ type: 'text_delta', text: words });

const answer = [
  start(),
  ping,
  block({ type: 'text', text: '' }),
  text('Gr\u00fc\u00dfe \u6771\u4eac \ud83d\ude80'),
  stop(),
];
const done = { outcome: 'done', cut: false, finish: 'end_turn', ids: [], names: [] };

function read(...events: readonly Json[]): ReplyFacts {
  return readStream(messagesDialect(), [namedEvents(...events)]);
}

const calls = [
  start(),
  block({ type: 'thinking', thinking: '' }),
  delta({ type: 'thinking_delta', thinking: 'hm' }),
  delta({ type: 'signature_delta', signature: 's' }),
  stop(),
  block({ type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }, 1),
  delta({ type: 'input_json_delta', partial_json: '{"path":' }, 1),
  delta({ type: 'input_json_delta', partial_json: '"a"}' }, 1),
  stop(1),
  block({ type: 'tool_use', id: 'toolu_2', name: 'list', input: {} }, 2),
  stop(2),
];

describe('the reader of a stream of messages', () => {
  it.each([1, 7, 4_096])('reads an answer with reads of %d bytes', (size) => {
    const stream = recut(namedEvents(...answer, end('end_turn'), over), size);
    expect(summary(readStream(messagesDialect(), stream))).toEqual({
      ...done,
      usage: { promptTokens: 10, completionTokens: 7 },
    });
  });

  it('reads calls of tools, and counts what came out', () => {
    const facts = read(...calls, end('tool_use'), over);
    expect(summary(facts)).toMatchObject({
      outcome: 'paused',
      finish: 'tool_use',
      ids: ['toolu_1', 'toolu_2'],
      names: ['read', 'list'],
    });
    expect(facts).toMatchObject({ outputPieces: 3, closed: true, responseId: null });
  });

  it('adds up the prompt from its parts: new, read from the cache and written to it', () => {
    const usage = {
      input_tokens: 3,
      cache_read_input_tokens: 900,
      cache_creation_input_tokens: 90,
      output_tokens: 1,
    };
    const facts = read(start(usage), end('end_turn'), over);
    expect(facts.usage).toEqual({ promptTokens: 993, completionTokens: 7 });
    expect(facts.cachedTokens).toBe(900);
  });

  it.each([
    ['the start alone', start({ input_tokens: 20, output_tokens: 9 }), {}],
    ['the end alone', start({ input_tokens: 0, output_tokens: 0 }), { input_tokens: 20, output_tokens: 9 }],
    [
      'both, with zeros for what was told',
      start({ input_tokens: 20 }),
      { input_tokens: 0, output_tokens: 9 },
    ],
    [
      'the end, the start having none',
      { type: 'message_start', message: {} },
      { input_tokens: 20, output_tokens: 9 },
    ],
  ])('takes usage from %s', (_, first, last) => {
    expect(read(first, end('end_turn', last), over).usage).toEqual({ promptTokens: 20, completionTokens: 9 });
  });

  it('tells an unknown number of cached tokens from none', () => {
    expect(read(start(), end('end_turn'), over).cachedTokens).toBeNull();
    expect(read(start({ input_tokens: 1, cache_read_input_tokens: 0 }), over).cachedTokens).toBe(0);
    expect(read(start({ input_tokens: 1, cache_read_input_tokens: null }), over).cachedTokens).toBeNull();
  });

  it.each(['end_turn', 'max_tokens', 'stop_sequence', 'refusal'])(
    'takes %s for the end of a run',
    (reason) => {
      expect(summary(read(...answer, end(reason), over))).toMatchObject({ outcome: 'done', finish: reason });
    },
  );

  it('takes a turn that is to be continued at once for a pause, and tools that the server runs for none', () => {
    const server = block({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} });
    expect(summary(read(start(), server, end('pause_turn'), over))).toMatchObject({
      outcome: 'paused',
      ids: [],
    });
    expect(summary(read(start(), server, end('end_turn'), over)).outcome).toBe('done');
  });

  it.each([
    ['an overload', { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }],
    ['an error in OpenAI\u2019s shape', { error: { message: 'x' } }],
    ['an error as text', { error: 'x' }],
  ])('takes %s inside a 200 for a failure, not for a cut', (_, event) => {
    const stream = `${namedEvents(...answer)}event: error\ndata: ${JSON.stringify(event)}\n\n`;
    expect(summary(readStream(messagesDialect(), [stream]))).toMatchObject({ outcome: 'failed', cut: false });
  });

  it('goes by the names of events where their data has no type', () => {
    const stream =
      'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {}\n\n';
    expect(readStream(messagesDialect(), [stream])).toMatchObject({ finishReason: 'end_turn', closed: true });
  });

  it.each([
    ['wrong kinds', { type: 7, message: 5, delta: [], usage: 'x', content_block: null }],
    ['negative counts', { type: 'message_delta', usage: { input_tokens: -1, output_tokens: 1.5 } }],
    ['a block without id or name', block({ type: 'tool_use', id: null, name: 7 })],
    ['an event of tomorrow', { type: 'of_tomorrow', delta: { type: 'new_delta', data: {} } }],
  ])('passes over %s and reads on', (_, event) => {
    expect(read(start(), event, end('end_turn'), over)).toMatchObject({
      finishReason: 'end_turn',
      toolCallIds: new Set(),
      usage: { promptTokens: 10, completionTokens: 7 },
    });
  });
});

const s04 = caseFile('S04');
describe(`${s04.id} ${s04.title}`, () => {
  it('is no matter to messages: pings and comments are passed over, and are no answer', () => {
    const alive = `: ping\n\n${namedEvents(ping)}event: ping\ndata:\n\n`;
    const whole = namedEvents(...answer, end('end_turn'), over).replaceAll('\n\n', `\n\n${alive}`);
    expect(summary(readStream(messagesDialect(), [whole]))).toMatchObject(done);
    expect(summary(readStream(messagesDialect(), [alive, alive])).cut).toBe(true);
    expect(summary(readStream(messagesDialect(), [namedEvents(start()), alive])).cut).toBe(true);
  });
});

const s12 = caseFile('S12');
describe(`${s12.id} ${s12.title}`, () => {
  it.each([
    ['after its start', [start()]],
    ['amid text', answer],
    ['amid the arguments of a call', calls.slice(0, 8)],
    ['after its last block', [...answer, stop()]],
  ])('is seen in a stream of messages that ends %s', (_, events) => {
    expect(summary(read(...events))).toMatchObject({ cut: true, finish: null });
  });

  it('does not hold where the stop reason or the last event came', () => {
    expect(summary(read(...answer, end('end_turn'))).cut).toBe(false);
    expect(summary(read(...answer, over)).cut).toBe(false);
  });
});

describe('the reader of a whole message', () => {
  it('reads calls, stop reason, usage and cached tokens', () => {
    const facts = readBody(messagesDialect(), {
      type: 'message',
      content: [
        { type: 'text', text: 'x' },
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 5 },
    });
    expect(summary(facts)).toEqual({
      outcome: 'paused',
      cut: false,
      finish: 'tool_use',
      ids: ['a'],
      names: ['f'],
      usage: { promptTokens: 10, completionTokens: 5 },
    });
    expect(facts.cachedTokens).toBe(8);
  });

  it('believes the content, not the stop reason', () => {
    const call = { type: 'tool_use', id: 'a', name: 'f' };
    expect(summary(readBody(messagesDialect(), { content: [call], stop_reason: 'end_turn' })).outcome).toBe(
      'paused',
    );
    expect(summary(readBody(messagesDialect(), { content: [], stop_reason: 'tool_use' })).outcome).toBe(
      'done',
    );
  });

  it.each(['', 'not json', '[]', '{"content":null}', '{"content":[7],"usage":[]}'])('reads %j', (body) => {
    expect(summary(readBody(messagesDialect(), body)).outcome).toBe('done');
  });

  it('takes an error inside a 200 for a failure', () => {
    const body = { type: 'error', error: { type: 'api_error', message: 'x' } };
    expect(summary(readBody(messagesDialect(), body)).outcome).toBe('failed');
  });
});
