import { describe, expect, it } from 'vitest';
import { engineStarter, namedEventsOf, postTo, readAll } from '../engine-client.ts';
import { gatherMessage, type Message } from '../gather-message.ts';

const start = engineStarter();

const lookup = {
  name: 'lookup',
  input_schema: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
};

const ask = (content: unknown, more: object = {}): object => ({
  model: 'sim-small',
  max_tokens: 1_000,
  messages: [{ role: 'user', content }],
  tools: [lookup],
  ...more,
});

const withoutIds = (message: Message): unknown =>
  JSON.parse(
    JSON.stringify(message, (key, value: unknown) => (key === 'id' || key === 'usage' ? null : value)),
  );

describe('messages', () => {
  it.each([
    ['an answer', 'Rivers [[sim {"calls":[],"answerTokens":30}]]', {}, 'end_turn'],
    [
      'two calls after a text',
      'Rivers [[sim {"calls":[["lookup","lookup"]],"preface":"Well."}]]',
      {},
      'tool_use',
    ],
    ['a call alone', 'Rivers [[sim {"calls":["lookup"]}]]', {}, 'tool_use'],
    ['a text cut short', 'Rivers [[sim {"calls":[],"answerTokens":30}]]', { max_tokens: 7 }, 'max_tokens'],
  ])('stream %s as the reply that comes in one body', async (_name, content, more, stopReason) => {
    const { engine } = await start();
    const whole = (await (await postTo(engine, '/v1/messages', ask(content, more))).json()) as Message;
    const response = await postTo(engine, '/v1/messages', ask(content, { ...more, stream: true }));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const streamed = gatherMessage(namedEventsOf((await readAll(response)).text));
    expect(withoutIds(streamed)).toEqual(withoutIds(whole));
    expect(streamed.stop_reason).toBe(stopReason);
    expect(streamed.usage['output_tokens']).toBe(whole.usage['output_tokens']);
  });

  it('tell cached tokens beside the others, at the start and at the end of a stream', async () => {
    const { engine } = await start();
    const body = ask('rivers '.repeat(100), { stream: true, tools: [] });
    await readAll(await postTo(engine, '/v1/messages', body));
    const events = namedEventsOf((await readAll(await postTo(engine, '/v1/messages', body))).text);
    const { usage = {} } = (events[0]?.['message'] ?? {}) as Partial<Message>;
    expect(usage).toMatchObject({ cache_read_input_tokens: 96, cache_creation_input_tokens: 0 });
    const counted = await postTo(engine, '/v1/messages/count_tokens', body);
    expect(await counted.json()).toEqual({ input_tokens: 96 + (usage['input_tokens'] ?? 0) });
    expect(events.at(-2)?.['usage']).toMatchObject({ ...usage, output_tokens: expect.any(Number) });
    expect(events.some(({ type }) => type === 'ping')).toBe(true);
  });

  it('understand system prompts, images, thinking, results with an error and text beside results', async () => {
    const { engine } = await start();
    const history = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Rivers [[sim {"calls":["lookup"]}]]' },
          { type: 'image', source: {} },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'Well.' },
          { type: 'tool_use', id: 'toolu_1', name: 'lookup', input: { topic: 'Rhine' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [{ type: 'text', text: 'no such river' }],
          },
          { type: 'text', text: 'Keep going.' },
        ],
      },
    ];
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
    const response = await postTo(engine, '/v1/messages', ask('', { messages: history, system }));
    const { content, stop_reason } = (await response.json()) as Message;
    expect(stop_reason).toBe('end_turn');
    expect(content[0]?.text).toContain('lookup says "no such river"');
  });

  it.each([
    [{ type: 'any' }, 'tool_use'],
    [{ type: 'tool', name: 'lookup' }, 'tool_use'],
    [{ type: 'none' }, 'end_turn'],
  ])('obey the tool choice %j', async (tool_choice, stopReason) => {
    const { engine } = await start();
    const response = await postTo(engine, '/v1/messages', ask('Rivers', { tool_choice }));
    expect(((await response.json()) as Message).stop_reason).toBe(stopReason);
  });

  it('call one tool when side by side is switched off, and none that the vendor runs', async () => {
    const { engine } = await start();
    const content = 'Rivers [[sim {"calls":[["lookup","lookup"]]}]]';
    const choice = { tool_choice: { type: 'auto', disable_parallel_tool_use: true } };
    const one = (await (await postTo(engine, '/v1/messages', ask(content, choice))).json()) as Message;
    expect(one.content).toHaveLength(1);
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const none = (await (await postTo(engine, '/v1/messages', ask('Rivers', { tools }))).json()) as Message;
    expect(none.stop_reason).toBe('end_turn');
  });

  it('refuse in their own shape, whatever is wrong', async () => {
    const { engine } = await start({ apiKey: 'secret', queueFullStatus: 503 });
    const failure = async (body: unknown, path = '/v1/messages'): Promise<unknown> => {
      const response = await postTo(engine, path, body, { headers: { 'x-api-key': 'secret' } });
      const { type, error } = (await response.json()) as { type: string; error: { type: string } };
      return [response.status, type, error.type];
    };
    expect(await failure(ask('x', { max_tokens: undefined }))).toEqual([
      400,
      'error',
      'invalid_request_error',
    ]);
    expect(await failure(ask('x', { model: 'claude-x' }))).toEqual([404, 'error', 'not_found_error']);
    expect(
      await failure(
        { model: 'claude-x', messages: [{ role: 'user', content: 'x' }] },
        '/v1/messages/count_tokens',
      ),
    ).toEqual([404, 'error', 'not_found_error']);
    engine.failNext({ kind: 'rate-limit' });
    expect(await failure(ask('x'))).toEqual([429, 'error', 'rate_limit_error']);
    engine.failNext({ kind: 'unavailable' });
    expect(await failure(ask('x'))).toEqual([503, 'error', 'overloaded_error']);
    engine.failNext({ kind: 'error' });
    expect(await failure(ask('x'))).toEqual([500, 'error', 'api_error']);
    const response = await postTo(engine, '/v1/messages', ask('x'));
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { type: 'authentication_error' } },
    ]);
  });
});
