import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { addLiveRoute } from '../../activities/live-route.ts';
import { createLiveTurns } from '../../activities/live-turns.ts';
import { workerIdentity } from '../../activities/worker-identity.ts';
import { addressOf } from '../../mcp-server/runs/live-turn.ts';

const token = 'a-token-of-the-services';
let app: FastifyInstance | null = null;
afterEach(async () => {
  await app?.close();
});

async function serve(withToken: string | null) {
  const turns = createLiveTurns();
  app = fastify();
  addLiveRoute(app, turns, withToken);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { turns, url };
}

async function ask(url: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  return await new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      text(response).then((body) => resolve([response.statusCode ?? 0, body]), reject);
    })
      .on('error', reject)
      .end();
  });
}

describe('the worker\u2019s door to what models write', () => {
  it('opens to the token of the services only', async () => {
    const { turns, url } = await serve(token);
    turns.begin('run_a', 1).progress.begun(() => ({ content: 'secret', calls: [] }));
    for (const headers of [{}, { authorization: `Bearer ${token}x` }, { authorization: token }]) {
      const [status, body] = await ask(`${url}/live/run_a`, headers);
      expect(status).toBe(401);
      expect(body).not.toContain('secret');
    }
    const [status, body] = await ask(`${url}/live/run_a`, { authorization: `Bearer ${token}` });
    expect([status, JSON.parse(body)]).toMatchObject([200, { live: { turn: 1, text: 'secret' } }]);
  });

  it('without a token answers whoever names it by address, and no web page under a name of its own', async () => {
    const { turns, url } = await serve(null);
    turns.begin('run_a', 1);
    expect((await ask(`${url}/live/run_a`))[0]).toBe(200);
    expect((await ask(`${url}/live/run_a`, { host: 'localhost:1' }))[0]).toBe(200);
    expect((await ask(`${url}/live/run_a`, { host: '[::1]:1' }))[0]).toBe(200);
    expect((await ask(`${url}/live/run_a`, { host: 'evil.example' }))[0]).toBe(401);
    expect((await ask(`${url}/live/run_a`, { host: '127.0.0.1.evil.example' }))[0]).toBe(401);
  });

  it.each(['turn=x', 'offset=-1', 'waitMs=20001', 'turn=1.5'])('refuses %s', async (query) => {
    const { url } = await serve(null);
    expect((await ask(`${url}/live/run_a?${query}`))[0]).toBe(400);
  });
});

describe('the name of a worker', () => {
  it('tells where it is to whoever reads it in Temporal', () => {
    expect(addressOf(workerIdentity('127.0.0.1', 9_464))).toBe('http://127.0.0.1:9464');
    expect(addressOf(workerIdentity('::1', 9_464))).toBe('http://[::1]:9464');
  });

  it('never names the address that means all of them', () => {
    for (const host of ['0.0.0.0', '::']) {
      expect(addressOf(workerIdentity(host, 1))).toMatch(/^http:\/\/(?!0\.0\.0\.0)[\d.]+:1$/);
    }
  });

  it.each(['', '12@host', '12@host ftp://a:1', '12@host http://a:1/x', 'http://a:1', '12@host http://a b:1'])(
    'is no address when it is %j',
    (identity) => {
      expect(addressOf(identity)).toBeNull();
    },
  );
});
