/** Without a token a service of this machine is for its programs, not for the pages that its browser shows. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProxy, type Proxy } from '../../proxy/create-proxy.ts';
import { createScheduler, type Scheduler } from '../../scheduler/host/create-scheduler.ts';
import { settings } from '../scheduler/host/stand.ts';

const logger = pino({ level: 'silent' });
let scheduler: Scheduler;
let proxy: Proxy;
beforeAll(async () => {
  const pool = settings([{ id: 'a', url: 'http://127.0.0.1:9', models: ['m'] }]);
  scheduler = await createScheduler({ host: '127.0.0.1', port: 0, ...pool }, { logger, environment: {} });
  proxy = await createProxy(
    { host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url },
    { logger, environment: {} },
  );
});
afterAll(async () => {
  await proxy.close();
  await scheduler.close();
});

async function ask(url: string, headers: Record<string, string>): Promise<{ status: number; code: unknown }> {
  const asked = request(url, { headers });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = (await json(answer)) as { error?: { code?: unknown } };
  return { status: answer.statusCode ?? 0, code: body.error?.code };
}

describe.each([
  ['the proxy', () => `${proxy.url}/v1/models`],
  ['the scheduler', () => `${scheduler.url}/status`],
])('%s', (_, url) => {
  it('answers programs and pages of this machine', async () => {
    for (const headers of [{}, { origin: 'http://localhost:3000' }]) {
      expect((await ask(url(), headers as Record<string, string>)).code).not.toBe('cross_site');
    }
  });

  it.each([{ origin: 'http://evil.example' }, { host: 'evil.example' }, { origin: 'null' }])(
    'refuses %j',
    async (headers) => {
      expect(await ask(url(), headers as Record<string, string>)).toEqual({
        status: 403,
        code: 'cross_site',
      });
    },
  );
});

it('links no page to the scheduler', async () => {
  const asked = request(`${scheduler.url}/link`, {
    headers: { origin: 'http://evil.example', connection: 'Upgrade', upgrade: 'websocket' },
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  expect(answer.statusCode).toBe(403);
});
