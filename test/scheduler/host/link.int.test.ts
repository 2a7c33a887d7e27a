/** The scheduler on real sockets: a WebSocket client plays the proxy, a tiny HTTP server the engine. */
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { configFileSchema } from '../../../contracts/config-file.ts';
import { schedulerStatusSchema, type SchedulerStatus } from '../../../contracts/scheduler-status.ts';
import {
  createScheduler,
  type Scheduler,
  type SchedulerConfig,
} from '../../../scheduler/host/create-scheduler.ts';
import { startFakeEngine, type FakeEngine } from './fake-engine.ts';
import { linkProxy, openLink, turnSpec } from './fake-proxy.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function engine(models?: readonly string[]): Promise<FakeEngine> {
  const started = await startFakeEngine(models);
  cleanups.push(() => started.close());
  return started;
}

async function scheduler(
  pool: readonly Record<string, unknown>[],
  extra: Partial<SchedulerConfig> = {},
  environment: Record<string, string> = {},
): Promise<Scheduler> {
  const config = configFileSchema.parse({ pool });
  const started = await createScheduler(
    {
      host: '127.0.0.1',
      port: 0,
      pool: config.pool,
      policy: config.policy,
      callers: config.callers,
      probeIntervalMs: 50,
      ...extra,
    },
    { logger: pino({ level: 'silent' }), environment },
  );
  cleanups.push(() => started.close());
  return started;
}

async function proxy(url: string, id = 'p1', state = {}): ReturnType<typeof linkProxy> {
  const link = await linkProxy(url, id, state);
  cleanups.push(() => link.close());
  return link;
}

async function statusOf(url: string): Promise<SchedulerStatus> {
  return schedulerStatusSchema.parse(await (await fetch(`${url}/status`)).json());
}

it('admits the first turn as soon as the first probe has found the replica', async () => {
  const { url: engineUrl } = await engine();
  const { url } = await scheduler([{ id: 'a', url: engineUrl }], { probeIntervalMs: 60_000 });
  const link = await proxy(url);
  const spec = turnSpec();
  link.say({ type: 'turnArrived', spec, heldForMs: 0 });
  expect(await link.hears('admit')).toEqual([{ type: 'admit', turn: spec.turn, replica: 'a' }]);
  expect((await statusOf(url)).replicas[0]).toMatchObject({ healthy: true, models: ['m'], inFlight: 1 });
});

it('closes a link with a reason when a message does not parse', async () => {
  const { url } = await scheduler([{ id: 'a', url: (await engine()).url }]);
  const link = await proxy(url);
  link.say('{"type":"turnArrived"}');
  const { code, reason } = await link.closed;
  expect(code).toBe(1008);
  expect(reason).toContain('spec');
  const second = await openLink(url);
  second.say({ type: 'turnAbandoned', turn: turnSpec().turn });
  expect(await second.closed).toEqual({ code: 1008, reason: 'turnAbandoned came before resync' });
});
