/** The endpoints of the four generative APIs, through a real proxy to scripted engines. */
import { describe, expect, it } from 'vitest';
import { caseFile } from '../../case-file.ts';
import { namedEvents, type Json } from '../reply/read-reply.ts';
import {
  chunk,
  post,
  replica,
  sse,
  startStack,
  until,
  usageChunk,
  type Stack,
  type TestClient,
} from '../stack.ts';

const apis = ['chat', 'completions', 'responses', 'messages'];

async function start(engines = 1): Promise<Stack> {
  return await startStack({
    engines,
    pool: (all) => all.map(({ url }, index) => replica(`engine-${index}`, url, { apis })),
  });
}

interface Endpoint {
  readonly api: string;
  readonly path: string;
  readonly request: Json;
  /** A stream that is whole, what it reports, and where it would be cut. */
  readonly events: readonly string[];
  readonly usage: Json;
  readonly body: Json;
}

const usage = { input_tokens: 11, output_tokens: 2 };
const reported = { promptTokens: 11, completionTokens: 2 };
const endpoints: readonly Endpoint[] = [
  {
    api: 'chat',
    path: '/v1/chat/completions',
    request: { messages: [{ role: 'user', content: 'hi' }] },
    events: [sse(chunk({ content: 'a' })), sse(chunk({}, 'stop')), sse(usageChunk), sse('[DONE]')],
    usage: reported,
    body: { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }], usage: usageChunk.usage },
  },
  {
    api: 'completions',
    path: '/v1/completions',
    request: { prompt: 'hi' },
    events: [
      sse({ choices: [{ text: 'a', finish_reason: null }] }),
      sse({ choices: [{ text: '', finish_reason: 'length' }] }),
      sse(usageChunk),
      sse('[DONE]'),
    ],
    usage: reported,
    body: { choices: [{ text: 'a', finish_reason: 'stop' }], usage: usageChunk.usage },
  },
  {
    api: 'responses',
    path: '/v1/responses',
    request: { input: 'hi' },
    events: [
      namedEvents({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }),
      namedEvents({ type: 'response.output_text.delta', delta: 'a' }),
      namedEvents({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', usage } }),
    ],
    usage: reported,
    body: { id: 'resp_1', status: 'completed', output: [], usage },
  },
  {
    api: 'messages',
    path: '/v1/messages',
    request: { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 },
    events: [
      namedEvents({ type: 'message_start', message: { usage: { input_tokens: 11, output_tokens: 1 } } }),
      namedEvents({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } }),
      namedEvents({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
      namedEvents({ type: 'message_stop' }),
    ],
    usage: reported,
    body: { type: 'message', content: [], stop_reason: 'end_turn', usage },
  },
];

/** With what no JSON library keeps: spaces, a large number, a key twice, an unknown field. */
function bodyOf({ request }: Endpoint, more: Json = {}): string {
  const fields = JSON.stringify({ ...request, ...more }).slice(1, -1);
  return `{ "model":"m-test", ${fields}, "seed": 12345678901234567890, "x": {"a":[1.0]}, "x": 2 }`;
}

const ended = async (client: TestClient): Promise<void> =>
  await until(() => client.ended() !== null, 'the reply has ended');

describe.each(endpoints)('POST $path', (endpoint) => {
  const { api, path, events } = endpoint;

  it('sends the client\u2019s bytes on and the engine\u2019s back, and knows what the turn cost', async () => {
    const { proxy, engine, scheduler, log } = await start();
    const client = post(proxy, `${path}?beta=true`, bodyOf(endpoint), { 'x-fermata-run-id': 'r' });
    const call = await engine.next();
    expect(call.url).toBe(`${path}?beta=true`);
    expect(call.body.toString('utf8')).toBe(bodyOf(endpoint));
    call.json(200, endpoint.body, { 'x-engine': 'kept' });
    const head = await client.head;
    await ended(client);
    expect(client.text()).toBe(JSON.stringify(endpoint.body));
    expect(head.headers).toMatchObject({
      'x-engine': 'kept',
      'x-fermata-run-id': 'r',
      'x-fermata-replica': 'engine-0',
    });
    await until(() => scheduler.of('turnFinished').length === 1, 'the turn is reported');
    expect(scheduler.of('turnArrived')[0]?.spec).toMatchObject({ api, run: 'r', model: 'm-test' });
    expect(scheduler.of('turnFinished')[0]).toMatchObject({ outcome: 'done', usage: endpoint.usage });
    expect(log.at(-1)).toMatchObject({ api, status: 200, outcome: 'done', tokensIn: 11, tokensOut: 2 });
  });

  it('streams each event as it comes', async () => {
    const { proxy, engine, scheduler } = await start();
    const client = post(proxy, path, bodyOf(endpoint, { stream: true }));
    const call = await engine.next();
    call.head(200);
    let sent = '';
    for (const event of events) {
      call.write(event);
      if (event !== sse(usageChunk)) sent += event;
      await until(() => client.text() === sent, 'the event has come through');
    }
    call.end();
    await ended(client);
    expect({ ended: client.ended(), text: client.text() }).toEqual({ ended: 'whole', text: sent });
    await until(() => scheduler.of('turnFinished').length === 1, 'the turn is reported');
    expect(scheduler.of('turnFinished')[0]).toMatchObject({ outcome: 'done', usage: endpoint.usage });
  });

  const s12 = caseFile('S12');
  it.each([1, 2])(
    `${s12.id} ${s12.title} The client sees that it was cut, after %d events`,
    async (whole) => {
      const { proxy, engine, scheduler } = await start();
      const client = post(proxy, path, bodyOf(endpoint, { stream: true }));
      const call = await engine.next();
      call.head(200);
      const sent = events.slice(0, Math.min(whole, events.findIndex(isLast))).join('');
      call.write(sent);
      call.end();
      await ended(client);
      expect({ ended: client.ended(), text: client.text() }).toEqual({ ended: 'cut', text: sent });
      await until(() => scheduler.of('turnFinished').length === 1, 'the turn is reported');
      expect(scheduler.of('turnFinished')[0]?.outcome).toBe('failed');
    },
  );

  it('refuses what it cannot take, and says what is wrong', async () => {
    const { proxy, engine } = await start();
    const status = async (body: string): Promise<[number, string]> => {
      const client = post(proxy, path, body);
      const head = await client.head;
      await ended(client);
      const { error } = JSON.parse(client.text()) as { error: { code: string } };
      return [head.statusCode ?? 0, error.code];
    };
    expect(await status('{"model":')).toEqual([400, 'invalid_json']);
    expect(await status('[]')).toEqual([400, 'invalid_request']);
    expect(await status(bodyOf(endpoint).replace('"m-test"', '7'))).toEqual([400, 'invalid_request']);
    expect(await status(bodyOf(endpoint).replace('"m-test"', '"other"'))).toEqual([404, 'unknown_model']);
    expect(engine.calls).toHaveLength(0);
  });
});

/** The first event with which a stream counts as whole. */
function isLast(event: string): boolean {
  return /"finish_reason":"|response\.completed|"stop_reason"/.test(event);
}

describe('the usage of a stream of completions', () => {
  const asked = '"stream_options":{"include_usage":true}';
  const stream = async (more: Json): Promise<{ sent: string; seen: string }> => {
    const { proxy, engine } = await start();
    const endpoint = endpoints[1] as Endpoint;
    const client = post(proxy, endpoint.path, bodyOf(endpoint, { stream: true, ...more }));
    const call = await engine.next();
    call.head(200);
    call.write(endpoint.events.join(''));
    call.end();
    await ended(client);
    return { sent: call.body.toString('utf8'), seen: client.text() };
  };

  it('is asked for, and kept from a client that did not ask', async () => {
    const { sent, seen } = await stream({});
    expect(sent).toBe(bodyOf(endpoints[1] as Endpoint, { stream: true }).replace('{', `{${asked},`));
    expect(seen).not.toContain('usage');
  });

  it('is not kept from one that did', async () => {
    const { sent, seen } = await stream({ stream_options: { include_usage: true } });
    expect(sent).toBe(
      bodyOf(endpoints[1] as Endpoint, { stream: true, stream_options: { include_usage: true } }),
    );
    expect(seen).toContain(sse(usageChunk));
  });
});

describe('a request that goes on from a stored response', () => {
  const { path } = endpoints[2] as Endpoint;

  it('belongs to the run that was answered with it, and goes to the replica that stores it', async () => {
    const { proxy, engines, scheduler } = await start(2);
    for (const engine of engines) {
      engine.answer((call) => call.json(200, { id: 'resp_a', status: 'completed', output: [] }));
    }
    const ask = async (fields: Json): Promise<string | undefined> => {
      const client = post(proxy, path, JSON.stringify({ model: 'm-test', ...fields }));
      const head = await client.head;
      await ended(client);
      return head.headers['x-fermata-run-id'] as string | undefined;
    };
    const run = await ask({ input: 'begin' });
    expect(await ask({ input: 'go on', previous_response_id: 'resp_a' })).toBe(run);
    expect(await ask({ input: 'go on', previous_response_id: 'resp_unknown' })).not.toBe(run);
    expect(scheduler.of('turnArrived').map(({ spec }) => spec.stored)).toEqual([
      undefined,
      { replica: 'engine-0' },
      { replica: null },
    ]);
  });
});
