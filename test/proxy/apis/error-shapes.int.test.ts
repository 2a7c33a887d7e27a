/** The shape of every error of ours is that of the API whose endpoint was asked, whoever words it. */
import { describe, expect, it } from 'vitest';
import type { ProxyLimits } from '../../../proxy/limits.ts';
import { post, replica, startStack, until, type Stack } from '../stack.ts';

const start = async (limits: Partial<ProxyLimits> = {}): Promise<Stack> =>
  await startStack({
    limits: { bodyBytes: 1_000, ...limits },
    pool: ([only]) => [replica('e', only?.url ?? '', { apis: ['chat', 'messages'] })],
  });

async function send(
  { proxy }: Stack,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const client = post(proxy, path, body, headers);
  const head = await client.head;
  await until(() => client.ended() !== null, 'the reply has ended');
  return { status: head.statusCode ?? 0, body: JSON.parse(client.text()) };
}

const good = JSON.stringify({ model: 'm-test', messages: [] });

describe('under /v1/messages', () => {
  it.each([
    ['a body that is no JSON', '/v1/messages', '{', {}, 400, 'invalid_request_error', 'invalid_json'],
    ['a missing field', '/v1/messages?beta=true', '{}', {}, 400, 'invalid_request_error', 'invalid_request'],
    [
      'a bad header',
      '/v1/messages',
      good,
      { 'x-fermata-class': 'x' },
      400,
      'invalid_request_error',
      'invalid_header',
    ],
    ['a large body', '/v1/messages', 'x'.repeat(1_500), {}, 413, 'request_too_large', 'body_too_large'],
    [
      'an unknown model',
      '/v1/messages',
      good.replace('m-test', 'y'),
      {},
      404,
      'not_found_error',
      'unknown_model',
    ],
    ['no such endpoint', '/v1/messages/batches', good, {}, 404, 'not_found_error', 'not_found'],
    [
      'a count of a bad body',
      '/v1/messages/count_tokens',
      '[]',
      {},
      400,
      'invalid_request_error',
      'invalid_request',
    ],
  ])('%s is told in Anthropic\u2019s shape', async (_, path, body, headers, status, type, code) => {
    const answer = await send(await start(), path, body, headers);
    expect(answer).toEqual({
      status,
      body: { type: 'error', error: { type, message: expect.any(String) as string, code } },
    });
  });

  it('an engine that cannot be reached is as well', async () => {
    const stack = await start();
    await stack.engine.close();
    expect(await send(stack, '/v1/messages', good)).toMatchObject({
      status: 502,
      body: { type: 'error', error: { type: 'api_error', code: 'engine_unreachable' } },
    });
  });

  it('a proxy that stops says so in it as well', async () => {
    const stack = await start({ drainMs: 10_000 });
    const inFlight = post(stack.proxy, '/v1/messages', good);
    const call = await stack.engine.next();
    const stopped = stack.proxy.close();
    expect(await send(stack, '/v1/messages/count_tokens', good)).toMatchObject({
      status: 503,
      body: { type: 'error', error: { type: 'overloaded_error', code: 'draining' } },
    });
    call.json(200, {});
    await stopped;
    expect((await inFlight.head).statusCode).toBe(200);
  });

  it('an engine\u2019s own error is not touched', async () => {
    const stack = await start();
    stack.engine.answer((call) => call.json(400, { error: { message: 'own', type: 'x' } }));
    expect(await send(stack, '/v1/messages', good)).toEqual({
      status: 400,
      body: { error: { message: 'own', type: 'x' } },
    });
  });
});

it.each(['/v1/chat/completions', '/v1/messages_of_old', '/v1/nowhere'])(
  'everywhere else it is OpenAI\u2019s: %s',
  async (path) => {
    const { body } = await send(await start(), path, '{');
    expect(body).toEqual({
      error: {
        message: expect.any(String) as string,
        type: expect.any(String) as string,
        code: expect.any(String) as string,
      },
    });
  },
);
