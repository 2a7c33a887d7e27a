/**
 * A real llama.cpp engine whose slots share one KV memory and are each told that they have all of it: what is at
 * work together overflows it. With the memory that its entry names no request is lost.
 */
import { resolve } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { ensureLlamaCppPython } from '../../cli/setup/llamacpp-python.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { createProxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';
import { startLlamaCpp } from '../../testkit/llamacpp/launch.ts';
import { closeAfterTest } from '../closing.ts';

const stateDir = resolve(import.meta.dirname, '../../.fermata');
const limitMs = 300_000;
const logger = pino({ level: 'silent' });
const contextTokens = 512;
const words = 'river '.repeat(150);

it(
  'loses no request of runs that together are larger than what its slots share',
  { timeout: limitMs },
  async () => {
    const python = await ensureLlamaCppPython(stateDir, () => undefined);
    const engine = await startLlamaCpp({ python, slots: 4, contextTokens, shared: true });
    closeAfterTest(async () => await engine.close());
    const { pool, policy, callers } = configFileSchema.parse({
      pool: [{ id: 'a', url: engine.url, engine: 'llamacpp', kvCacheTokens: contextTokens }],
    });
    const scheduler = await createScheduler(
      { host: '127.0.0.1', port: 0, pool, policy, callers, probeIntervalMs: 200 },
      { logger, environment: {} },
    );
    closeAfterTest(async () => await scheduler.close());
    const proxy = await createProxy(
      { host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url, redisUrl: null },
      { logger, environment: {} },
    );
    closeAfterTest(async () => await proxy.close());
    const statuses = await Promise.all(
      [0, 1, 2, 3].map(async (run) => {
        const response = await fetch(`${proxy.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-fermata-run-id': `run ${run}` },
          body: JSON.stringify({
            model: engine.model,
            max_tokens: 40,
            ignore_eos: true,
            messages: [{ role: 'user', content: `${run} ${words}` }],
          }),
        });
        await response.text();
        return response.status;
      }),
    );
    expect(statuses).toEqual([200, 200, 200, 200]);
  },
);
