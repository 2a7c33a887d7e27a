/** Who may see the scheduler's state, and who may link to it. */
import { once } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createScheduler, type Scheduler } from '../../../scheduler/host/create-scheduler.ts';
import { bearer, namedToken, serviceToken, testAccess, tokenOf } from '../../auth/test-access.ts';
import { settings } from './stand.ts';

let scheduler: Scheduler;
let log: string[] = [];
beforeEach(async () => {
  log = [];
  const { pool, policy, callers } = settings([{ id: 'a', url: 'http://127.0.0.1:9', models: ['m'] }]);
  scheduler = await createScheduler(
    { host: '127.0.0.1', port: 0, pool, policy, callers },
    {
      logger: pino({}, { write: (line: string) => void log.push(line) }),
      environment: {},
      access: testAccess([namedToken('ann'), namedToken('ops', { admin: true })]),
    },
  );
});
afterEach(async () => {
  await scheduler.close();
});

const senders: [string, Record<string, string>, number][] = [
  ['nobody', {}, 401],
  ['a wrong token', bearer('wrong'), 401],
  ['a key of Anthropic\u2019s kind', { 'x-api-key': serviceToken }, 401],
  ['a named token', bearer(tokenOf('ann')), 403],
  ['an admin', bearer(tokenOf('ops')), 200],
  ['the service token', bearer(serviceToken), 200],
];

describe('the scheduler', () => {
  it.each(senders)('answers %s', async (_, headers, status) => {
    for (const path of ['/status', '/status?x=/healthz', '/debug/state', '/%73tatus']) {
      const response = await fetch(`${scheduler.url}${path}`, { headers });
      expect([path, response.status]).toEqual([path, status]);
      const body = (await response.json()) as { error?: { code?: string } };
      expect(body.error?.code).toBe({ 200: undefined, 401: 'unauthorized', 403: 'forbidden' }[status]);
      expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    }
    const head = await fetch(`${scheduler.url}/status`, { method: 'HEAD', headers });
    expect(head.status).toBe(status);
  });

  it('leaves health and metrics open, and is silent on what does not exist', async () => {
    for (const [path, statuses] of [
      ['/healthz', [200]],
      ['/metrics', [200]],
      ['/readyz', [200, 503]],
      ['/debug', [404]],
      ['/nothing', [404]],
    ] as const) {
      const { status } = await fetch(`${scheduler.url}${path}`);
      expect([path, (statuses as readonly number[]).includes(status)]).toEqual([path, true]);
    }
  });

  it.each(senders)('links %s, or refuses and says so without the token', async (_, headers, status) => {
    const socket = new WebSocket(`${scheduler.url.replace('http', 'ws')}/link`, { headers });
    const answer = await Promise.race([
      once(socket, 'open').then(() => 200),
      once(socket, 'unexpected-response').then(
        ([, response]) => (response as { statusCode: number }).statusCode,
      ),
    ]);
    expect(answer).toBe(status);
    socket.on('error', () => {});
    socket.terminate();
    const refusals = log.filter((line) => line.includes('a link was refused'));
    expect(refusals).toHaveLength(status === 200 ? 0 : 1);
    for (const secret of ['wrong"', tokenOf('ann'), serviceToken]) expect(log.join('')).not.toContain(secret);
  });
});
