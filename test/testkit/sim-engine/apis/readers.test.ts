import { describe, expect, it } from 'vitest';
import { BadRequest, type ApiContext } from '../../../../testkit/sim-engine/apis/api.ts';
import { readChat } from '../../../../testkit/sim-engine/apis/chat-request.ts';
import { readMessages } from '../../../../testkit/sim-engine/apis/messages-request.ts';
import { createResponseStore } from '../../../../testkit/sim-engine/apis/response-store.ts';
import { functionsOf, inputSchema, messagesOf } from '../../../../testkit/sim-engine/apis/responses-items.ts';
import { readResponses } from '../../../../testkit/sim-engine/apis/responses-request.ts';
import { apiRoutes } from '../../../../testkit/sim-engine/apis/table.ts';
import { defaultScriptOptions } from '../../../../testkit/sim-engine/core/script.ts';
import { errorBody } from '../../../../testkit/sim-engine/error-body.ts';

function context(): ApiContext {
  let ids = 0;
  return {
    model: 'sim-small',
    labels: ['a', 'b'],
    script: defaultScriptOptions,
    callIds: 'unique',
    reportCachedTokens: true,
    images: true,
    responses: createResponseStore(2),
    uniqueId: (prefix) => {
      ids += 1;
      return `${prefix}${ids}`;
    },
  };
}

const read = (input: unknown) => messagesOf(inputSchema.parse(input));

describe('items of responses', () => {
  it('that are a text and its calls become one message of the model', () => {
    const messages = read([
      { role: 'developer', content: 'Be brief.' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Rivers' }] },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well.' }] },
      { type: 'function_call', call_id: 'c1', name: 'lookup', arguments: '{"topic":"a"}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '*** Begin' },
      { type: 'function_call_output', call_id: 'c1', output: 'found' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'done' }] },
    ]);
    expect(messages).toEqual([
      { role: 'system', text: 'Be brief.', toolCalls: [], toolCallId: null },
      { role: 'user', text: 'Rivers', toolCalls: [], toolCallId: null },
      {
        role: 'assistant',
        text: 'Well.',
        toolCalls: [
          { id: 'c1', name: 'lookup', arguments: '{"topic":"a"}' },
          { id: 'c2', name: 'patch', arguments: '*** Begin' },
        ],
        toolCallId: null,
      },
      { role: 'tool', text: 'found', toolCalls: [], toolCallId: 'c1' },
      { role: 'tool', text: 'done', toolCalls: [], toolCallId: 'c2' },
    ]);
  });

  it('that are calls of two turns stay two messages', () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'lookup', arguments: '{}' });
    const output = { type: 'function_call_output', call_id: 'c1', output: 'x' };
    expect(read(['c1', 'c2'].flatMap((id) => [call(id), output])).map(({ role }) => role)).toEqual([
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
  });

  it('offer functions, also those of a namespace, and no tools of the vendor', () => {
    const tools = functionsOf([
      { type: 'function', name: 'a', parameters: null },
      {
        type: 'namespace',
        name: 'mcp__x',
        tools: [
          { type: 'function', name: 'b' },
          { type: 'custom', name: 'c' },
        ],
      },
      { type: 'web_search' },
    ]);
    expect(tools.map(({ name, namespace }) => [name, namespace])).toEqual([
      ['a', null],
      ['b', 'mcp__x'],
    ]);
  });
});

it('the store of responses forgets the oldest beyond its bound', () => {
  const store = createResponseStore(2);
  for (const id of ['r1', 'r2', 'r3']) store.keep(id, []);
  expect(['r1', 'r2', 'r3'].map((id) => store.find(id) !== null)).toEqual([false, true, true]);
});

describe('the same conversation', () => {
  const parameters = { type: 'object', properties: { topic: { type: 'string' } } };

  it('comes to the same tokens over chat, responses and messages, tools and results included', () => {
    const chat = readChat(
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Rivers' },
          {
            role: 'assistant',
            content: 'Well.',
            tool_calls: [{ id: 'c1', function: { name: 'lookup', arguments: '{"topic":"a"}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'found' },
        ],
        tools: [{ type: 'function', function: { name: 'lookup', description: 'd', parameters } }],
      },
      context(),
    );
    const responses = readResponses(
      {
        instructions: 'Be brief.',
        input: [
          { role: 'user', content: 'Rivers' },
          { role: 'assistant', content: 'Well.' },
          { type: 'function_call', call_id: 'c1', name: 'lookup', arguments: '{"topic":"a"}' },
          { type: 'function_call_output', call_id: 'c1', output: 'found' },
        ],
        tools: [{ type: 'function', name: 'lookup', description: 'd', parameters }],
      },
      context(),
    );
    const messages = readMessages(
      {
        max_tokens: 100,
        system: 'Be brief.',
        messages: [
          { role: 'user', content: 'Rivers' },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'Well.' },
              { type: 'tool_use', id: 'c1', name: 'lookup', input: { topic: 'a' } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'found' }] },
        ],
        tools: [{ name: 'lookup', description: 'd', input_schema: parameters }],
      },
      context(),
    );
    expect(chat.sequences[0]?.promptTokens.length).toBeGreaterThan(20);
    expect(responses.sequences).toEqual(chat.sequences);
    expect(messages.sequences).toEqual(chat.sequences);
    expect([responses.turn, messages.turn]).toEqual([chat.turn, chat.turn]);
  });
});

describe('every reader', () => {
  it.each([...apiRoutes].filter(([, { read: reader }]) => reader !== null))(
    'of %s refuses what is no request with a line that names the field',
    (_path, { read: reader }) => {
      for (const body of [null, 'x', [], {}, { input: 7, messages: 7, prompt: 7, documents: 7, text_1: 7 }]) {
        expect(() => reader?.(body, context())).toThrow(BadRequest);
        expect(() => reader?.(body, context())).toThrow(/^[a-z_0-9.]+: ./);
      }
    },
  );
});

describe('errors', () => {
  it.each([
    ['/v1/messages', 404, { type: 'error', error: { type: 'not_found_error', message: 'm' } }],
    ['/v1/messages/count_tokens', 500, { type: 'error', error: { type: 'api_error', message: 'm' } }],
    ['/v1/messagesx', 400, { error: { type: 'BadRequestError', message: 'm', param: null, code: 400 } }],
    ['/v1/responses', 500, { error: { type: 'InternalServerError', message: 'm', param: null, code: 500 } }],
  ])('of %s with status %i are in its shape', (path, status, body) => {
    expect(errorBody(path, status, 'm')).toEqual(body);
  });
});

describe('images', () => {
  const url = (data: string) => `data:image/png;base64,${data}`;
  const chat = (...images: string[]) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          ...images.map((data) => ({ type: 'image_url', image_url: { url: url(data) } })),
        ],
      },
    ],
  });
  const responses = (...images: string[]) => ({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          ...images.map((data) => ({ type: 'input_image', image_url: url(data) })),
        ],
      },
    ],
  });
  const messages = (...images: string[]) => ({
    max_tokens: 10,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          ...images.map((data) => ({
            type: 'image',
            source: { type: 'base64', media_type: 'image/png', data },
          })),
        ],
      },
    ],
  });

  describe.each([
    ['chat completions', chat, readChat],
    ['responses', responses, readResponses],
    ['messages', messages, readMessages],
  ])('in %s', (_api, body, reader) => {
    const tokensOf = (...images: string[]) =>
      reader(body(...images), context()).sequences[0]?.promptTokens ?? [];

    it('cost a fixed number of tokens each, the same image the same ones', () => {
      const [none, small, large] = [[], ['AAAA'], ['A'.repeat(40_000)]].map((images) => tokensOf(...images));
      expect(small?.length).toBe(large?.length);
      const each = (small?.length ?? 0) - (none?.length ?? 0);
      expect(each).toBeGreaterThan(200);
      expect(tokensOf('AAAA', 'BBBB')).toHaveLength((none?.length ?? 0) + 2 * each);
      expect(tokensOf('AAAA')).toEqual(tokensOf('AAAA'));
      expect(tokensOf('AAAA')).not.toEqual(tokensOf('AAAB'));
    });

    it('are refused where the model reads text only', () => {
      const textOnly = { ...context(), images: false };
      expect(() => reader(body('AAAA'), textOnly)).toThrow(
        new BadRequest(400, 'sim-small is not a multimodal model'),
      );
      expect(() => reader(body(), textOnly)).not.toThrow();
    });
  });

  it('are refused in a tool message of chat completions, as most engines do', () => {
    const [message] = chat('AAAA').messages;
    const body = { messages: [{ ...message, role: 'tool', tool_call_id: 'c' }] };
    expect(() => readChat(body, context())).toThrow(/only allowed in messages of role 'user'/);
  });
});
