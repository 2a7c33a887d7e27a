/** A real scheduler in the test's process, stopped and started again on its port as a test wants. */
import pino from 'pino';
import {
  configFileSchema,
  type Callers,
  type Policy,
  type ReplicaConfig,
} from '../../contracts/config-file.ts';
import type { OpenLocalLink } from '../../contracts/link-protocol.ts';
import { createScheduler, type Scheduler } from '../../scheduler/host/create-scheduler.ts';
import { closeAfterTest } from './stack.ts';

export interface RealScheduler {
  readonly url: string;
  stop(): Promise<void>;
  /** Starts a new one, which knows nothing, on the same port. */
  start(): Promise<void>;
  /** Links a proxy of the same process with whichever scheduler is there. */
  readonly openLink: OpenLocalLink;
  /** Puts another policy in force. */
  setPolicy(policy: Partial<Policy>): void;
}

export async function startRealScheduler(
  pool: readonly Partial<ReplicaConfig>[],
  callers: Readonly<Record<string, Partial<Callers[string]>>> = {},
  options: { readonly policy?: Partial<Policy>; readonly probeIntervalMs?: number } = {},
): Promise<RealScheduler> {
  const config = configFileSchema.parse({ pool, callers, policy: options.policy ?? {} });
  const create = (port: number): Promise<Scheduler> =>
    createScheduler(
      {
        host: '127.0.0.1',
        port,
        pool: config.pool,
        policy: config.policy,
        callers: config.callers,
        probeIntervalMs: options.probeIntervalMs ?? 100,
      },
      { logger: pino({ level: 'silent' }), environment: {} },
    );
  let scheduler: Scheduler | null = await create(0);
  const { url, port } = scheduler;
  const stop = async (): Promise<void> => {
    await scheduler?.close();
    scheduler = null;
  };
  closeAfterTest(stop);
  return {
    url,
    openLink: (events) => scheduler?.openLink(events) ?? null,
    stop,
    start: async () => {
      scheduler = await create(port);
    },
    setPolicy: (policy) => {
      scheduler?.reconfigure({ ...config, policy: { ...config.policy, ...policy } });
    },
  };
}
