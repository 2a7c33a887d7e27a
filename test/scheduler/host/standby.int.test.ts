/** Two schedulers in one process, with one lease in a folder: who decides, and what the other one tells. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ResyncRun } from '../../../contracts/link-protocol.ts';
import { createScheduler, type Scheduler } from '../../../scheduler/host/create-scheduler.ts';
import { openFileLease } from '../../../scheduler/host/lease/file-lease.ts';
import type { LeaseStore } from '../../../scheduler/host/lease/lease-store.ts';
import { openKubernetesAccess } from '../../../scheduler/host/lease/kubernetes-access.ts';
import { openKubernetesLease } from '../../../scheduler/host/lease/kubernetes-lease.ts';
import { leaseTimes, type LeaseTimes } from '../../../scheduler/host/lease/lease-times.ts';
import { startKubernetesApi } from './lease/kubernetes-api.ts';
import { closeAfterTest, engine, proxy, settings, statusBecomes, statusOf } from './stand.ts';

/** Nobody's lease lapses during a test that goes by these. */
const patient: LeaseTimes = { ...leaseTimes, durationMs: 600_000, heldForMs: 450_000, lookEveryMs: 20 };
/** Renewed often, and soon given up. */
const brisk: LeaseTimes = {
  durationMs: 400,
  heldForMs: 300,
  renewEveryMs: 50,
  lookEveryMs: 20,
  retryMs: 10,
  answerWithinMs: 200,
};

/** Soon given up when nothing answers, and not for being slow. */
const steady: LeaseTimes = { ...brisk, durationMs: 4_000, heldForMs: 3_000, answerWithinMs: 500 };

/** Requests over TLS take a while on a busy machine. */
const slower: LeaseTimes = { ...leaseTimes, renewEveryMs: 200 };

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-standby-'));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Pair {
  readonly engineUrl: string;
  readonly folder: string;
  /** Starts another one. */
  start(times: LeaseTimes, lease?: LeaseStore): Promise<Scheduler>;
}

async function stand(): Promise<Pair> {
  const { url: engineUrl } = await engine(['m']);
  const folder = await makeFolder();
  return {
    engineUrl,
    folder,
    async start(leaseTimesGiven, lease) {
      const { pool, policy, callers } = settings([{ id: 'a', url: engineUrl, maxConcurrent: 1 }]);
      const scheduler = await createScheduler(
        { host: '127.0.0.1', port: 0, pool, policy, callers, probeIntervalMs: 50 },
        {
          logger: pino({ level: 'silent' }),
          environment: {},
          lease: lease ?? (await openFileLease(folder)),
          leaseTimes: leaseTimesGiven,
        },
      );
      closeAfterTest(() => scheduler.close());
      return scheduler;
    },
  };
}

const roleOf = async ({ url }: Scheduler): Promise<string> => (await statusOf(url)).lease?.role ?? 'none';
const becomes = async (scheduler: Scheduler, role: string): Promise<void> => {
  await expect.poll(() => roleOf(scheduler), { timeout: 30_000 }).toBe(role);
};

/** As one that was active before gives it back, so that a patient one need not wait. */
async function giveBack(folder: string, linkedProxies: number): Promise<void> {
  const lease = await openFileLease(folder);
  const { version } = await lease.read();
  await lease.write({ holder: null, durationMs: 1, linkedProxies }, version);
}

const resting = (id: string): ResyncRun => ({
  run: id as ResyncRun['run'],
  class: 'interactive',
  caller: 'me' as ResyncRun['caller'],
  replica: 'a' as ResyncRun['replica'],
  phase: 'paused',
  footprintTokens: 100,
  idleForMs: 10,
});

describe('a scheduler that stands by', () => {
  it('says of whom, is alive but not ready, takes no link, and knows the pool', async () => {
    const { start, folder } = await stand();
    await giveBack(folder, 0);
    const active = await start(patient);
    await becomes(active, 'active');
    const standby = await start(patient);
    await statusBecomes(standby.url, ({ lease, replicas }) => {
      expect(lease?.holder).toMatch(new RegExp(`:${active.port}_`));
      expect(replicas).toMatchObject([{ id: 'a', healthy: true, models: ['m'] }]);
    });
    expect(await roleOf(standby)).toBe('standby');
    expect((await fetch(`${active.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${standby.url}/healthz`)).status).toBe(200);
    const ready = await fetch(`${standby.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      ready: false,
      reasons: [expect.stringMatching(/^standby of \S+:\d+_[0-9a-f]{8}$/)],
    });
    const metricsOf = async ({ url }: Scheduler): Promise<string> =>
      await (await fetch(`${url}/metrics`)).text();
    expect(await metricsOf(active)).toContain('fermata_scheduler_active 1\n');
    expect(await metricsOf(standby)).toContain('fermata_scheduler_active 0\n');
    expect(await answerToLink(standby.url)).toMatchObject({
      status: 503,
      body: { error: { code: 'unavailable', message: expect.stringContaining('standby of') } },
    });
    expect(standby.openLink({ received: () => {}, lost: () => {} })).toBeNull();
  });

  it('takes over as soon as the active one stops, without waiting for its lease', async () => {
    const { start, folder } = await stand();
    await giveBack(folder, 0);
    const active = await start(patient);
    await becomes(active, 'active');
    const standby = await start(patient);
    const link = await proxy(active.url);
    await active.close();
    await link.closed;
    await becomes(standby, 'active');
    expect((await proxy(standby.url)).heard).toMatchObject([{ type: 'pool' }]);
  });

  it('takes over from one that renews no more', async () => {
    const { start, folder } = await stand();
    const lease = await openFileLease(folder);
    await lease.write({ holder: 'killed', durationMs: 400, linkedProxies: 0 }, null);
    const standby = await start(brisk);
    expect(await roleOf(standby)).toBe('standby');
    await becomes(standby, 'active');
  });

  it('tells those who take over how many proxies were linked', async () => {
    const { start, folder } = await stand();
    await giveBack(folder, 0);
    const active = await start(patient);
    await becomes(active, 'active');
    const links = [await proxy(active.url, 'p1'), await proxy(active.url, 'p2')];
    const lease = await openFileLease(folder);
    const told = async (): Promise<unknown> => (await lease.read()).record?.linkedProxies;
    await expect.poll(told, { timeout: 30_000 }).toBe(2);
    await active.close();
    expect(await told()).toBe(2);
    for (const link of links) await link.closed;
  });
});

describe('an active scheduler', () => {
  it('whose lease does not answer closes its links and admits nothing more, and is active again later', async () => {
    const { start, folder } = await stand();
    await giveBack(folder, 0);
    const lease = await hangable(folder);
    const active = await start(steady, lease);
    await becomes(active, 'active');
    const link = await proxy(active.url, 'p1', { runs: [resting('r1')] });
    lease.hang = true;
    await link.closed;
    expect(await roleOf(active)).toBe('standby');
    await expect(proxy(active.url)).rejects.toThrow('503');
    expect((await statusOf(active.url)).runs).toEqual([]);
    await expect
      .poll(async () => (await statusOf(active.url)).lease?.fault, { timeout: 30_000 })
      .not.toBeNull();
    lease.hang = false;
    await becomes(active, 'active');
    await statusBecomes(active.url, ({ replicas, lease: standing }) => {
      expect(replicas).toMatchObject([{ healthy: true, models: ['m'] }]);
      expect(standing?.fault).toBeNull();
    });
    await proxy(active.url);
  });

  it('from whom somebody has taken the lease stands by', async () => {
    const { start, folder } = await stand();
    await giveBack(folder, 0);
    const active = await start({ ...patient, renewEveryMs: 50 });
    await becomes(active, 'active');
    const link = await proxy(active.url);
    const thief = await openFileLease(folder);
    await expect
      .poll(
        async () => {
          const { version } = await thief.read();
          return await thief.write({ holder: 'thief', durationMs: 600_000, linkedProxies: 0 }, version);
        },
        { timeout: 30_000 },
      )
      .not.toBeNull();
    await link.closed;
    expect((await statusOf(active.url)).lease).toMatchObject({ role: 'standby', holder: 'thief' });
  });
});

describe('schedulers with a lease of Kubernetes', () => {
  it('are active one at a time, and not while the API server cannot say who', async () => {
    const { start } = await stand();
    const api = await startKubernetesApi();
    closeAfterTest(() => api.close());
    const startOne = async (): Promise<Scheduler> => {
      const access = await openKubernetesAccess(api.environment, api.accountFolder);
      return await start(slower, await openKubernetesLease(access, { namespace: null, name: 'fermata' }));
    };
    const both = [await startOne(), await startOne()];
    const roles = async (): Promise<string[]> => (await Promise.all(both.map(roleOf))).toSorted();
    await expect.poll(roles, { timeout: 30_000 }).toEqual(['active', 'standby']);
    const holderOf = async (): Promise<boolean> => {
      const holder = api.leases.get('agents/fermata')?.spec?.holderIdentity;
      return (await statusOf(both[0]?.url ?? '')).lease?.holder === holder;
    };
    await expect.poll(holderOf, { timeout: 30_000 }).toBe(true);
    api.fault = { status: 500, message: 'etcd is away' };
    await expect.poll(roles, { timeout: 30_000 }).toEqual(['standby', 'standby']);
    api.fault = null;
    await expect.poll(roles, { timeout: 30_000 }).toEqual(['active', 'standby']);
  });
});

async function answerToLink(url: string): Promise<{ status: number; body: unknown }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/link`);
  socket.on('error', () => {});
  return await new Promise((resolve) => {
    socket.on('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
  });
}

/** A lease on a disk that can hang. */
async function hangable(folder: string): Promise<LeaseStore & { hang: boolean }> {
  const lease = await openFileLease(folder);
  const waiting: (() => void)[] = [];
  let hangs = false;
  const pass = async (): Promise<void> => {
    if (hangs) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return {
    at: lease.at,
    get hang() {
      return hangs;
    },
    set hang(value) {
      hangs = value;
      if (!value) for (const go of waiting.splice(0)) go();
    },
    async read() {
      await pass();
      return await lease.read();
    },
    async write(record, version) {
      await pass();
      return await lease.write(record, version);
    },
    close: async () => await lease.close(),
  };
}
