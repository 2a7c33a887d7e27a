/**
 * Two schedulers with one lease in a folder and a proxy, each a process of its own, before two simulated engines in
 * this process. A scheduler can be killed and started again on its port; who is active is asked of them.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { startChild, type RunningChild } from '../../cli/child-process.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';
import { choosePorts } from '../site/free-ports.ts';

const root = resolve(import.meta.dirname, '..', '..');
const host = '127.0.0.1';

/** Turns that each engine may have in flight. */
export const placesEach = 3;
export const replicas = ['a', 'b'] as const;
export type ReplicaName = (typeof replicas)[number];

export interface SchedulerProcess {
  readonly url: string;
  signal(name: NodeJS.Signals): void;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** In order; resolves with its exit code when it is gone. */
  stop(): Promise<number | null>;
  start(): Promise<void>;
}

export interface StandbySite {
  readonly engines: Readonly<Record<ReplicaName, SimEngine>>;
  readonly schedulers: readonly SchedulerProcess[];
  readonly proxyUrl: string;
  /** Resolves once exactly one scheduler is active and the others stand by. @throws Error after 60 s. */
  settled(): Promise<{ readonly active: SchedulerProcess; readonly standby: SchedulerProcess }>;
  /** A gauge of the proxy without labels. */
  gauge(name: string): Promise<number>;
  close(): Promise<void>;
}

const limitMs = 60_000;

/** @param workDir for logs, the configuration and the lease. */
export async function startStandbySite(workDir: string): Promise<StandbySite> {
  const running: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(running);
  try {
    const engines = {
      a: await startSimEngine({ timeScale: 0.1 }),
      b: await startSimEngine({ timeScale: 0.1 }),
    };
    running.push(...Object.values(engines));
    const configPath = join(workDir, 'fermata.yaml');
    await writeFile(configPath, JSON.stringify(configOf(engines)));
    await mkdir(join(workDir, 'logs'), { recursive: true });
    const ports = await choosePorts(host, 2);
    const urls = ports.map((port) => `http://${host}:${port}`);
    const schedulers: SchedulerProcess[] = [];
    for (const [index, port] of ports.entries()) {
      const scheduler = await startScheduler(`scheduler-${index}`, workDir, {
        FERMATA_CONFIG: configPath,
        FERMATA_SCHEDULER_PORT: String(port),
        FERMATA_SCHEDULER_LEASE: `file:${join(workDir, 'lease')}`,
      });
      schedulers.push(scheduler);
      running.push({ close: async () => void (await scheduler.stop()) });
    }
    const proxy = await startEntry('proxy', 'proxy/main.ts', workDir, {
      FERMATA_PROXY_PORT: '0',
      FERMATA_SCHEDULER_URL: urls.join(','),
      FERMATA_DRAIN_SECONDS: '1',
    });
    running.push(proxy);
    const proxyUrl = proxy.readyMatch[1] ?? '';
    const gauge = async (name: string): Promise<number> => await readGauge(proxyUrl, name);
    await eventually('the proxy is ready', async () => (await fetch(`${proxyUrl}/readyz`)).ok);
    return { engines, schedulers, proxyUrl, gauge, settled: async () => await settle(schedulers), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function configOf(engines: Readonly<Record<ReplicaName, SimEngine>>): object {
  return {
    pool: replicas.map((id) => ({
      id,
      url: engines[id].url,
      engine: 'vllm',
      models: [engines[id].model],
      maxConcurrent: placesEach,
    })),
    // Places and not tokens, so that a test can count them; a pause that outlasts any take-over.
    policy: { admission: 'engine-load', pauseReservationMs: { interactive: 600_000 } },
  };
}

async function startEntry(
  name: string,
  entry: string,
  workDir: string,
  own: Readonly<Record<string, string>>,
): Promise<RunningChild> {
  return await startChild({
    name,
    command: process.execPath,
    args: ['--import', import.meta.resolve('tsx'), join(root, entry)],
    environment: { PATH: process.env['PATH'], HOME: process.env['HOME'], FERMATA_LOG_LEVEL: 'info', ...own },
    logPath: join(workDir, 'logs', `${name}.log`),
    ready: /ready\b.*?(https?:\/\/\S+)/,
  });
}

async function startScheduler(
  name: string,
  workDir: string,
  own: Readonly<Record<string, string>>,
): Promise<SchedulerProcess> {
  const start = async (): Promise<RunningChild> =>
    await startEntry(name, 'scheduler/host/main.ts', workDir, own);
  let child = await start();
  return {
    url: child.readyMatch[1] ?? '',
    signal: (signal) => child.signal(signal),
    async kill() {
      child.signal('SIGKILL');
      await child.exited;
    },
    async stop() {
      // One that is stopped takes no other signal.
      child.signal('SIGCONT');
      await child.close();
      return child.exitCode();
    },
    async start() {
      child = await start();
    },
  };
}

async function settle(
  schedulers: readonly SchedulerProcess[],
): Promise<{ readonly active: SchedulerProcess; readonly standby: SchedulerProcess }> {
  let found: { active: SchedulerProcess; standby: SchedulerProcess } | null = null;
  await eventually('one scheduler is active and one stands by', async () => {
    const roles = await Promise.all(schedulers.map(roleOf));
    const active = schedulers[roles.indexOf('active')];
    const standby = schedulers[roles.indexOf('standby')];
    if (active === undefined || standby === undefined) return false;
    found = { active, standby };
    return true;
  });
  if (found === null) throw new Error('nobody is active');
  return found;
}

/** null: it does not say. */
export async function roleOf({ url }: Pick<SchedulerProcess, 'url'>): Promise<'active' | 'standby' | null> {
  try {
    const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(2_000) });
    return schedulerStatusSchema.parse(await response.json()).lease?.role ?? null;
  } catch {
    return null;
  }
}

async function readGauge(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
  return value === undefined ? Number.NaN : Number(value);
}

/** @throws Error with `what` when it has not become true within a minute. */
export async function eventually(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    if (await check().catch(() => false)) return;
    if (performance.now() > deadlineMs) throw new Error(`not within ${limitMs / 1_000} s: ${what}`);
    await new Promise((tryAgain) => {
      setTimeout(tryAgain, 10);
    });
  }
}
