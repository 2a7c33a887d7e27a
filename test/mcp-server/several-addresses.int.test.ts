/** An mcp-server with several proxies and schedulers: whoever can answer is asked. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { configFileSchema } from '../../contracts/config-file.ts';
import type { SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { PoolClient } from '../../mcp-server/runs/pool-client.ts';
import { ProxyClient, ProxyUnreachable } from '../../mcp-server/runs/proxy-client.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Server {
  readonly url: string;
  readonly asked: string[];
  close(): Promise<void>;
}

async function serve(status: number, body: object): Promise<Server> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  };
  closing.push(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

const models = { data: [{ id: 'm' }] };
const statusOf = (role: 'active' | 'standby', proxies: number): SchedulerStatus => ({
  replicas: [],
  held: [],
  runsByPhase: {},
  runs: [],
  proxies,
  policy: configFileSchema.parse({ pool: [{ id: 'a', url: 'http://a' }] }).policy,
  lease: { role, holder: 'somebody', at: 'file:/lease', fault: null },
});

describe('the proxies of an mcp-server', () => {
  it('are asked in turn, past one that is gone and one that is stopping', async () => {
    const gone = await serve(200, models);
    await gone.close();
    const stops = await serve(503, { error: { message: 'stopping', code: 'draining' } });
    const there = await serve(200, models);
    const client = new ProxyClient([gone.url, stops.url, there.url]);
    expect(await client.models()).toEqual(['m']);
    expect(await client.models()).toEqual(['m']);
    expect([stops.asked.length, there.asked.length]).toEqual([1, 2]);
  });

  it('are told to be out of reach when all are', async () => {
    const gone = [await serve(200, models), await serve(200, models)];
    for (const one of gone) await one.close();
    const client = new ProxyClient(gone.map(({ url }) => url));
    await expect(client.models()).rejects.toThrow(ProxyUnreachable);
  });
});

describe('the schedulers of an mcp-server', () => {
  it('tell of the pool where one is active, whichever it is', async () => {
    const standby = await serve(200, statusOf('standby', 0));
    const active = await serve(200, statusOf('active', 2));
    for (const urls of [
      [standby.url, active.url],
      [active.url, standby.url],
    ]) {
      expect(await new PoolClient(urls, null).status()).toMatchObject({ proxies: 2 });
    }
  });

  it('are named one by one when none is', async () => {
    const standby = await serve(200, statusOf('standby', 0));
    const gone = await serve(200, statusOf('active', 0));
    await gone.close();
    const words = new RegExp(`${standby.url} does not tell \\(it stands by\\); the scheduler at ${gone.url}`);
    await expect(new PoolClient([standby.url, gone.url], null).status()).rejects.toThrow(words);
  });
});
