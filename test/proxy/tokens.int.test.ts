/** The proxy's door: who is let in, what that one may do, and where a token never goes. */
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { bearer, serviceToken, testAccess, tokenOf } from '../auth/test-access.ts';
import { startGuardedStack, type GuardedStack } from './guarded-proxy.ts';
import { chat, chatBody, chatPath, post, until } from './stack.ts';

const endpoints = [
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/completions'],
  ['POST', '/v1/responses'],
  ['POST', '/v1/messages'],
  ['POST', '/v1/messages/count_tokens'],
  ['POST', '/v1/embeddings'],
  ['POST', '/v1/rerank'],
  ['POST', '/v1/score'],
  ['POST', '/v1/decide'],
  ['GET', '/v1/models'],
  ['GET', '/v1/runs/mine'],
  ['DELETE', '/v1/runs/mine'],
  ['GET', '/v1/no-such-thing'],
] as const;

async function ask(
  url: string,
  method: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const init = method === 'POST' ? { body: '{"model": "m-test"}' } : {};
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...init,
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  };
}

/** Answers every turn at once. */
function answering(stack: GuardedStack): GuardedStack {
  stack.engine.answer((call) => {
    call.json(200, { choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }] });
  });
  return stack;
}

describe('every endpoint of the proxy', () => {
  it('answers 401 without a token or with a wrong one, and lets in each right one', async () => {
    const { proxy, engine } = answering(await startGuardedStack());
    for (const [method, path] of endpoints) {
      const unknown: Record<string, string>[] = [
        {},
        bearer('wrong'),
        { 'x-api-key': 'wrong' },
        { authorization: serviceToken },
      ];
      for (const headers of unknown) {
        const { status, body, headers: told } = await ask(`${proxy.url}${path}`, method, headers);
        expect([path, status, told.get('www-authenticate')]).toEqual([path, 401, 'Bearer']);
        const error = body['error'] as Record<string, unknown>;
        expect(error['message']).toContain('Authorization: Bearer TOKEN');
        const inAnthropicsShape = path.startsWith('/v1/messages');
        expect([path, body['type'], error['type'], error['code'] ?? 'unauthorized']).toEqual([
          path,
          inAnthropicsShape ? 'error' : undefined,
          'authentication_error',
          'unauthorized',
        ]);
      }
      for (const token of [serviceToken, tokenOf('ann'), tokenOf('farm'), tokenOf('ops')]) {
        const sent: Record<string, string>[] = [
          bearer(token),
          { authorization: `bearer ${token}` },
          { 'x-api-key': token },
        ];
        for (const headers of sent) {
          const { status } = await ask(`${proxy.url}${path}`, method, headers);
          expect([path, [401, 403].includes(status)]).toEqual([path, false]);
        }
      }
    }
    expect(engine.calls.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  }, 60_000);

  it('cannot be reached by another spelling of its address', async () => {
    const { proxy } = await startGuardedStack();
    for (const path of [
      '/%761/models',
      '/v1/%6Dodels',
      '/v1//models',
      '//v1/models',
      '/V1/models',
      '/v1/models/',
      '/./v1/models',
    ]) {
      const answer = await rawRequest(
        proxy.port,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect([path, /^HTTP\/1\.1 (401|404) /.test(answer)]).toEqual([path, true]);
      expect(answer).not.toContain('m-test');
    }
  });

  it('leaves health and metrics open', async () => {
    const { proxy } = await startGuardedStack();
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect([path, [200, 503].includes((await fetch(`${proxy.url}${path}`)).status)]).toEqual([path, true]);
    }
  });

  it('refuses before anything of the body has come', async () => {
    const { proxy } = await startGuardedStack();
    const head = `POST ${chatPath} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 30000000\r\n\r\n`;
    expect(await rawRequest(proxy.port, head)).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  });

  it('needs no token where none is set', async () => {
    const { proxy } = answering(await startGuardedStack({ access: undefined }));
    expect((await chat(proxy, {}, {})).status).toBe(200);
    expect((await chat(proxy, {}, bearer('whatever'))).status).toBe(200);
  });
});

/** Sends bytes and reads what comes until the connection closes or 200 bytes are there. */
async function rawRequest(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  socket.on('error', () => {});
  await until(() => answer.includes('\r\n\r\n') && answer.length > 200, 'an answer has come');
  socket.destroy();
  return answer;
}

describe('a token', () => {
  it('never reaches an engine or a log, whichever way it came', async () => {
    const { proxy, engine, log } = answering(await startGuardedStack());
    for (const token of [serviceToken, tokenOf('ann')]) {
      const headers: Record<string, string>[] = [
        bearer(token),
        { 'x-api-key': token },
        { ...bearer('sk-of-somebody'), 'x-api-key': token },
        { ...bearer(token), 'proxy-authorization': `Basic ${token}` },
      ];
      for (const sent of headers) expect((await chat(proxy, {}, sent)).status).toBe(200);
    }
    await chat(proxy, {}, bearer('wrong-token'));
    await fetch(`${proxy.url}/v1/models`, { headers: { 'x-api-key': 'wrong-token' } });
    expect(engine.calls).toHaveLength(8);
    for (const { rawHeaders } of engine.calls) {
      expect(rawHeaders.join('\n').toLowerCase()).not.toMatch(/token|authorization|api-key|sk-of/);
    }
    await until(
      () => log.filter((line) => line.includes('"status":401')).length === 2,
      'refusals are logged',
    );
    for (const secret of [serviceToken, tokenOf('ann'), 'sk-of-somebody', 'wrong-token']) {
      expect(log.join('')).not.toContain(secret);
    }
  });

  it.each([
    ['chat', {}, { authorization: 'Bearer key-of-the-replica' }],
    ['messages', { engine: 'none' }, { 'x-api-key': 'key-of-the-replica' }],
    ['messages', { engine: 'vllm' }, { authorization: 'Bearer key-of-the-replica' }],
  ])('of the client gives way to the replica\u2019s own key: %s %j', async (api, replica, expected) => {
    const { proxy, engine } = answering(
      await startGuardedStack({
        replica: { apiKeyEnv: 'KEY', ...replica },
        environment: { KEY: 'key-of-the-replica' },
      }),
    );
    const path = api === 'chat' ? chatPath : '/v1/messages';
    const sent = { 'x-api-key': tokenOf('ann'), 'anthropic-version': '2023-06-01' };
    const client = post(proxy, path, chatBody({ max_tokens: 5 }), sent);
    expect((await client.head).statusCode).toBe(200);
    const [call] = engine.calls;
    const { authorization, 'x-api-key': apiKey, 'anthropic-version': version } = call?.headers ?? {};
    expect(
      Object.fromEntries(
        Object.entries({ authorization, 'x-api-key': apiKey }).filter(([, value]) => value !== undefined),
      ),
    ).toEqual(expected);
    expect(version).toBe('2023-06-01');
  });
});

describe('a named token', () => {
  it('is its caller, whatever the caller header says', async () => {
    const { proxy, runs } = answering(await startGuardedStack());
    await chat(proxy, {}, { ...bearer(tokenOf('ann')), 'x-fermata-caller': 'bob' });
    await chat(proxy, {}, { ...bearer(tokenOf('ops')), 'x-luftpause-caller': 'bob' });
    await chat(proxy, {}, { ...bearer(serviceToken), 'x-fermata-caller': 'carl' });
    await chat(proxy, {}, bearer(serviceToken));
    expect((await runs()).map(({ caller }) => caller).toSorted()).toEqual([
      'ann',
      'anonymous',
      'carl',
      'ops',
    ]);
  });

  it('that allows batch only makes every turn one of batch', async () => {
    const { proxy, runs } = answering(await startGuardedStack());
    for (const [run, wanted] of [
      ['a', 'interactive'],
      ['b', 'batch'],
      ['c', null],
    ] as const) {
      const header = wanted === null ? {} : { 'x-fermata-class': wanted };
      await chat(proxy, {}, { ...bearer(tokenOf('farm')), 'x-fermata-run-id': run, ...header });
      await chat(proxy, {}, { ...bearer(tokenOf('ann')), 'x-fermata-run-id': run, ...header });
    }
    const classes = Object.fromEntries((await runs()).map(({ run, class: of }) => [run, of]));
    expect(classes).toEqual({
      'farm/a': 'batch',
      'farm/b': 'batch',
      'farm/c': 'batch',
      'ann/a': 'interactive',
      'ann/b': 'batch',
      'ann/c': 'interactive',
    });
  });
});

describe('the link', () => {
  it('is refused to a proxy with another token, which says so once and clearly', async () => {
    const { schedulerUrl, log } = await startGuardedStack();
    const seen = log.length;
    const { createProxy } = await import('../../proxy/create-proxy.ts');
    const pino = (await import('pino')).default;
    const lines: Record<string, unknown>[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as never) });
    const proxy = await createProxy(
      { host: '127.0.0.1', port: 0, schedulerUrl, limits: { drainMs: 0, lastBytesMs: 0 } },
      { logger, environment: {}, access: testAccess([], 'another-service-token') },
    );
    try {
      const refusals = (): string[] => log.slice(seen).filter((line) => line.includes('a link was refused'));
      await until(() => refusals().length >= 2, 'it has tried twice');
      expect(lines.filter(({ level }) => level === 50).map(({ msg }) => msg)).toEqual([
        "the scheduler refuses this proxy's token: FERMATA_TOKEN differs; set the same for proxy and scheduler",
      ]);
      const ready = await fetch(`${proxy.url}/readyz`);
      expect([ready.status, await readText(ready.body as never)]).toEqual([
        503,
        expect.stringContaining('"linked":false'),
      ]);
      expect(JSON.stringify(lines) + log.join('')).not.toContain('another-service-token');
    } finally {
      await proxy.close();
    }
  });
});
