import { describe, expect, it } from 'vitest';
import type { ReplyFacts } from '../../../proxy/reply/reply-facts.ts';
import { responsesDialect } from '../../../proxy/reply/responses-replies.ts';
import { caseFile } from '../../case-file.ts';
import { namedEvents, readBody, readStream, recut, summary, type Json } from './read-reply.ts';

const usage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 37,
};
const response = (status: string, more: Json = {}): Json => ({
  id: 'resp_1',
  object: 'response',
  status,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
  ...more,
});
const created = { type: 'response.created', response: response('in_progress') };
const added = (item: Json): Json => ({ type: 'response.output_item.added', output_index: 0, item });
const itemDone = (item: Json): Json => ({ type: 'response.output_item.done', output_index: 0, item });
const textDelta = (words: string): Json => ({ type: 'response.output_text.delta', delta: words });
const completed = (more: Json = {}): Json => ({
  type: 'response.completed',
  response: response('completed', { usage, ...more }),
});
const functionCall = (id: unknown, name: unknown = 'read'): Json => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: id,
  name,
  arguments: '{}',
});

const answer = [
  created,
  added({ type: 'message', role: 'assistant' }),
  textDelta('Gr\u00fc\u00dfe'),
  textDelta(' \ud83d\ude80'),
];
const done = {
  outcome: 'done',
  cut: false,
  finish: 'completed',
  ids: [],
  names: [],
  usage: { promptTokens: 30, completionTokens: 7 },
};

function read(...events: readonly Json[]): ReplyFacts {
  return readStream(responsesDialect, [namedEvents(...events)]);
}

describe('the reader of a stream of a response', () => {
  it.each([1, 7, 4_096])('reads an answer with reads of %d bytes', (size) => {
    const stream = recut(namedEvents(...answer, completed()), size);
    const facts = readStream(responsesDialect, stream);
    expect(summary(facts)).toEqual(done);
    expect(facts).toMatchObject({ cachedTokens: 20, responseId: 'resp_1', outputPieces: 2, closed: true });
  });

  it.each([
    ['their items alone', [added(functionCall('call_1')), itemDone(functionCall('call_1')), completed()]],
    ['the response at the end alone', [completed({ output: [functionCall('call_1')] })]],
    ['both', [itemDone(functionCall('call_1')), completed({ output: [functionCall('call_1')] })]],
  ])('reads calls from %s', (_, events) => {
    expect(summary(read(created, ...events))).toMatchObject({
      outcome: 'paused',
      ids: ['call_1'],
      names: ['read'],
    });
  });

  it.each([
    [functionCall('c'), 'c', 'read'],
    [{ type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: 'x' }, 'c', 'apply_patch'],
    [{ type: 'local_shell_call', id: 'l', call_id: 'c', action: {} }, 'c', 'local_shell_call'],
    [{ type: 'local_shell_call', id: 'l', call_id: null }, 'l', 'local_shell_call'],
    [{ type: 'computer_call', id: 'x', call_id: 'c', action: {} }, 'c', 'computer_call'],
    [{ type: 'mcp_approval_request', id: 'apr', name: 'deploy' }, 'apr', 'deploy'],
    [{ type: 'call_of_tomorrow_call', call_id: 'c' }, 'c', 'call_of_tomorrow_call'],
  ])('takes %j for a call that its client answers', (item, id, name) => {
    expect(summary(read(itemDone(item), completed()))).toMatchObject({
      outcome: 'paused',
      ids: [id],
      names: [name],
    });
  });

  it.each([
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'mcp_call',
    'image_generation_call',
  ])('takes a %s for the server\u2019s own', (type) => {
    expect(summary(read(itemDone({ type, id: 'ws_1', status: 'completed' }), completed())).outcome).toBe(
      'done',
    );
  });

  it('knows a call without a usable id or name', () => {
    expect(summary(read(itemDone(functionCall(null, '')), completed()))).toMatchObject({
      outcome: 'paused',
      ids: ['fc_1'],
    });
  });

  it('tells how it ended when it is not complete', () => {
    const details = { incomplete_details: { reason: 'max_output_tokens' } };
    const event = { type: 'response.incomplete', response: response('incomplete', { usage, ...details }) };
    expect(summary(read(...answer, event))).toEqual({ ...done, finish: 'max_output_tokens' });
  });

  it.each([
    ['failed', { type: 'response.failed', response: response('failed', { error: { message: 'x' } }) }],
    ['cancelled', { type: 'response.cancelled', response: response('cancelled') }],
    ['an error event', { type: 'error', code: 'server_error', message: 'x' }],
    ['an error of a gateway', { error: { message: 'x' } }],
  ])('takes %s for a failure, not for a cut', (_, event) => {
    expect(summary(read(...answer, event))).toMatchObject({ outcome: 'failed', cut: false });
  });

  it('goes by the name of an event and by its kind where the data leaves it out', () => {
    const stream = `event: response.completed\ndata: ${JSON.stringify({ response: { id: 'r', usage } })}\n\n`;
    expect(readStream(responsesDialect, [stream])).toMatchObject({ finishReason: 'completed', closed: true });
  });

  it('reads usage by the names of chat completions, and tells unknown cached tokens from none', () => {
    const chat = { prompt_tokens: 5, completion_tokens: 2 };
    expect(read(completed({ usage: chat }))).toMatchObject({
      usage: { promptTokens: 5, completionTokens: 2 },
      cachedTokens: null,
    });
    const none = { ...usage, input_tokens_details: { cached_tokens: 0 } };
    expect(read(completed({ usage: none })).cachedTokens).toBe(0);
  });

  it.each([
    ['wrong kinds', { type: 7, response: 5, item: [], delta: {} }],
    ['a response of wrong kinds', { type: 'x', response: { id: 7, output: 'x', usage: 1, status: {} } }],
    ['an event of tomorrow', { type: 'response.of_tomorrow', item: { type: 'new' } }],
  ])('passes over %s and reads on', (_, event) => {
    expect(summary(read(created, event, completed()))).toEqual(done);
  });
});

const s04 = caseFile('S04');
describe(`${s04.id} ${s04.title}`, () => {
  it('is no matter to responses: keep-alives are passed over, and are no answer', () => {
    const alive = ': ping\n\nevent: keepalive\ndata:\n\nretry: 3000\nid: 7\n\n';
    const whole = namedEvents(...answer, completed()).replaceAll('\n\n', `\n\n${alive}`);
    expect(summary(readStream(responsesDialect, [whole]))).toEqual(done);
    expect(summary(readStream(responsesDialect, [alive, alive])).cut).toBe(true);
    expect(summary(readStream(responsesDialect, [namedEvents(created), alive])).cut).toBe(true);
  });
});

const s12 = caseFile('S12');
describe(`${s12.id} ${s12.title}`, () => {
  it.each([
    ['after its start', [created, { type: 'response.in_progress', response: response('in_progress') }]],
    ['amid text', answer],
    ['after its last item', [...answer, itemDone({ type: 'message', role: 'assistant' })]],
    ['amid the arguments of a call', [created, added(functionCall('c'))]],
  ])('is seen in a response that ends %s', (_, events) => {
    expect(summary(read(...events))).toMatchObject({ cut: true, finish: null });
  });

  it('does not hold for a last event without its blank line', () => {
    expect(summary(readStream(responsesDialect, [namedEvents(...answer, completed()).trimEnd()])).cut).toBe(
      false,
    );
  });
});

describe('the reader of a whole response', () => {
  it('reads calls, status, usage, cached tokens and its id', () => {
    const output = [{ type: 'reasoning' }, functionCall('a'), functionCall('b', 'list')];
    const facts = readBody(responsesDialect, response('completed', { usage, output }));
    expect(summary(facts)).toEqual({ ...done, outcome: 'paused', ids: ['a', 'b'], names: ['read', 'list'] });
    expect(facts).toMatchObject({ cachedTokens: 20, responseId: 'resp_1' });
  });

  it('is failed when it says so, and not by an error that is null', () => {
    const failed = response('failed', { error: { code: 'server_error', message: 'x' } });
    expect(summary(readBody(responsesDialect, failed)).outcome).toBe('failed');
    expect(summary(readBody(responsesDialect, response('completed'))).outcome).toBe('done');
  });

  it.each(['', 'not json', '[]', '{"output":null}', '{"output":[7],"usage":[]}'])('reads %j', (body) => {
    expect(summary(readBody(responsesDialect, body)).outcome).toBe('done');
  });
});
