/** A scheduler, engines and proxies for one test; all of them are closed after it. */
import { pino } from 'pino';
import { vi } from 'vitest';
import { configFileSchema, type ConfigFile } from '../../../contracts/config-file.ts';
import { schedulerStatusSchema, type SchedulerStatus } from '../../../contracts/scheduler-status.ts';
import {
  createScheduler,
  type Scheduler,
  type SchedulerConfig,
} from '../../../scheduler/host/create-scheduler.ts';
import { closeAfterTest } from '../../closing.ts';
import { startFakeEngine, type FakeEngine } from './fake-engine.ts';
import { linkProxy, type FakeProxy } from './fake-proxy.ts';

export { closeAfterTest };

export async function engine(models?: readonly string[]): Promise<FakeEngine> {
  const started = await startFakeEngine(models);
  closeAfterTest(() => started.close());
  return started;
}

export function settings(pool: readonly Record<string, unknown>[]): ConfigFile {
  return configFileSchema.parse({ pool });
}

export async function scheduler(
  pool: readonly Record<string, unknown>[],
  extra: Partial<SchedulerConfig> = {},
  environment: Record<string, string> = {},
): Promise<Scheduler> {
  const { policy, callers, pool: replicas } = settings(pool);
  const started = await createScheduler(
    { host: '127.0.0.1', port: 0, pool: replicas, policy, callers, probeIntervalMs: 50, ...extra },
    { logger: pino({ level: 'silent' }), environment },
  );
  closeAfterTest(() => started.close());
  return started;
}

export async function proxy(url: string, id = 'p1', state = {}): Promise<FakeProxy> {
  const link = await linkProxy(url, id, state);
  closeAfterTest(() => link.close());
  return link;
}

export async function statusOf(url: string): Promise<SchedulerStatus> {
  return schedulerStatusSchema.parse(await (await fetch(`${url}/status`)).json());
}

/** Resolves once the check passes on the scheduler's status; fails with its words after 30 s. */
export async function statusBecomes(url: string, check: (status: SchedulerStatus) => void): Promise<void> {
  await vi.waitFor(async () => check(await statusOf(url)), { timeout: 30_000, interval: 20 });
}
