import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { connectTemporal } from '../../activities/connect-temporal.ts';
import { startHealthServer } from '../../activities/health-server.ts';
import { createWorkerMetrics } from '../../activities/worker-metrics.ts';

const logger = pino({ level: 'silent' });

describe('a worker without Temporal', () => {
  it('gives up at its bound with one line that names the address', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    await new Promise<void>((resolve) => holder.close(() => resolve()));
    const address = `127.0.0.1:${port}`;
    const work = connectTemporal({ address, namespace: 'default' }, { logger, timeoutMs: 1_500 });
    await expect(work).rejects.toThrow(`Temporal at ${address} did not answer within 1.5 s`);
  });
});

describe('the health server', () => {
  it('tells apart being alive and being ready, and shows metrics', async () => {
    let reason: string | null = 'starting';
    const { registry, setPolling } = createWorkerMetrics();
    const server = await startHealthServer({
      host: '127.0.0.1',
      port: 0,
      metrics: { contentType: registry.contentType, text: async () => await registry.metrics() },
      notReady: async () => await Promise.resolve(reason),
    });
    const get = async (path: string): Promise<[number, string]> => {
      const response = await fetch(server.url + path);
      return [response.status, await response.text()];
    };
    expect(await get('/healthz')).toEqual([200, '{"ok":true}']);
    expect(await get('/readyz')).toEqual([503, '{"ready":false,"reason":"starting"}']);
    reason = null;
    setPolling(true);
    expect(await get('/readyz')).toEqual([200, '{"ready":true}']);
    expect((await get('/metrics'))[1]).toContain('fermata_worker_polling 1');
    await server.close();
  });
});
