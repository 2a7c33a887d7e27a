/** A real proxy and a real scheduler that ask for tokens, before a scripted engine. */
import pino from 'pino';
import type { Access } from '../../auth/access.ts';
import { logSerializers } from '../../auth/log-serializers.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema, type RunStatusEntry } from '../../contracts/scheduler-status.ts';
import { createProxy, type Proxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';
import { bearer, namedToken, serviceToken, testAccess } from '../auth/test-access.ts';
import { startScriptedEngine, type ScriptedEngine } from './scripted-engine.ts';
import { closeAfterTest } from './stack.ts';

export interface GuardedStack {
  readonly proxy: Proxy;
  readonly engine: ScriptedEngine;
  readonly schedulerUrl: string;
  /** Everything that proxy and scheduler have logged, at every level. */
  readonly log: readonly string[];
  /** What the scheduler knows of runs. */
  runs(): Promise<readonly RunStatusEntry[]>;
}

/** ann and bob are callers, farm may only have batch, ops is an admin. */
export const people = [
  namedToken('ann'),
  namedToken('bob'),
  namedToken('farm', { class: 'batch' }),
  namedToken('ops', { admin: true }),
];

export async function startGuardedStack(
  options: {
    access?: Access | undefined;
    replica?: Record<string, unknown>;
    environment?: Record<string, string>;
  } = {},
): Promise<GuardedStack> {
  const log: string[] = [];
  const logger = pino(
    { level: 'trace', serializers: logSerializers },
    { write: (line: string) => void log.push(line) },
  );
  const access = 'access' in options ? options.access : testAccess(people);
  const deps = {
    logger,
    environment: options.environment ?? {},
    ...(access === undefined ? {} : { access }),
  };
  const engine = await startScriptedEngine();
  closeAfterTest(() => engine.close());
  const apis = ['chat', 'completions', 'responses', 'messages', 'embeddings', 'rerank', 'score'];
  const { pool, policy, callers } = configFileSchema.parse({
    pool: [{ id: 'e0', url: engine.url, models: ['m-test'], apis, ...options.replica }],
  });
  const scheduler = await createScheduler(
    { host: '127.0.0.1', port: 0, pool, policy, callers, probeIntervalMs: 100 },
    deps,
  );
  closeAfterTest(() => scheduler.close());
  const proxy = await createProxy(
    { host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url, limits: { drainMs: 0, lastBytesMs: 0 } },
    deps,
  );
  closeAfterTest(() => proxy.close());
  const headers = access === undefined ? {} : bearer(serviceToken);
  return {
    proxy,
    engine,
    schedulerUrl: scheduler.url,
    log,
    runs: async () =>
      schedulerStatusSchema.parse(await (await fetch(`${scheduler.url}/status`, { headers })).json()).runs,
  };
}
