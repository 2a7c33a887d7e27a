import { describe, expect, it } from 'vitest';
import type { PoolReplica } from '../../../contracts/link-protocol.ts';
import type { ApiDescriptor, TurnRequest } from '../../../proxy/apis/api-descriptor.ts';
import { chatCompletions } from '../../../proxy/apis/chat-completions.ts';
import { completions } from '../../../proxy/apis/completions.ts';
import { messages } from '../../../proxy/apis/messages.ts';
import { responses } from '../../../proxy/apis/responses.ts';
import type { Json } from '../reply/read-reply.ts';

const somewhere = {} as PoolReplica;

function read(api: ApiDescriptor, body: Json | string): TurnRequest {
  return api.readRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}

const sent = (api: ApiDescriptor, body: Json | string): string =>
  read(api, body).bodyFor(somewhere).toString('utf8');

const least: [ApiDescriptor, Json][] = [
  [chatCompletions, { model: 'm', messages: [] }],
  [completions, { model: 'm' }],
  [responses, { model: 'm' }],
  [messages, { model: 'm', messages: [] }],
];

describe.each(least)('$name', (api, body) => {
  it('reads only what a turn needs: whatever else there is, the engine judges', () => {
    const odd = { ...body, tools: 7, system: {}, instructions: [], prompt: null, input: 5, max_tokens: 'x' };
    expect(read(api, odd)).toMatchObject({
      api: api.name,
      model: 'm',
      maxTokens: null,
      upstreamPath: api.path,
    });
    const text = `{ "x": 1e400, ${JSON.stringify(odd).slice(1)}`;
    expect(sent(api, text)).toBe(text);
  });

  it('names the field that it needs and cannot take', () => {
    expect(() => read(api, { ...body, model: 7 })).toThrow(/^model: /);
    expect(() => read(api, { ...body, model: '' })).toThrow(/^model: /);
  });
});

it.each([
  [chatCompletions, 'max_tokens'],
  [chatCompletions, 'max_completion_tokens'],
  [completions, 'max_tokens'],
  [responses, 'max_output_tokens'],
  [messages, 'max_tokens'],
])('%o allows as many tokens as %s says', (api, field) => {
  const body = { model: 'm', messages: [] };
  expect(read(api, { ...body, [field]: 12 }).maxTokens).toBe(12);
  for (const odd of [-1, 1.5, '12', null]) expect(read(api, { ...body, [field]: odd }).maxTokens).toBeNull();
});

it('responses need no model', () => {
  expect(read(responses, { input: 'x' }).model).toBeNull();
  expect(read(responses, { model: null }).model).toBeNull();
});

describe.each([chatCompletions, completions])('the usage of a stream of $name', (api) => {
  const ask = (more: Json): Json => ({ model: 'm', messages: [], stream: true, ...more });

  it.each([
    [{}, { include_usage: true }],
    [{ stream_options: null }, { include_usage: true }],
    [{ stream_options: {} }, { include_usage: true }],
    [{ stream_options: { include_usage: false, x: 1 } }, { include_usage: true, x: 1 }],
  ])('is asked for and kept back when the client sends %j', (more, options) => {
    const request = read(api, ask(more));
    expect(request.withholdUsage).toBe(true);
    expect(JSON.parse(request.bodyFor(somewhere).toString('utf8'))).toEqual({
      ...ask(more),
      stream_options: options,
    });
  });

  it.each([
    [{ stream_options: { include_usage: true } }],
    [{ stream_options: 'odd' }],
    [{ stream_options: [] }],
    [{ stream: false }],
    [{ stream: null }],
  ])('is neither when the client sends %j', (more) => {
    expect(read(api, ask(more)).withholdUsage).toBe(false);
    expect(sent(api, ask(more))).toBe(JSON.stringify(ask(more)));
  });
});

it.each([responses, messages])('the usage of a stream of $name comes anyway and is left alone', (api) => {
  const body = { model: 'm', messages: [], stream: true };
  expect(read(api, body).withholdUsage).toBe(false);
  expect(sent(api, body)).toBe(JSON.stringify(body));
});
