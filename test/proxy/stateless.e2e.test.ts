/** Two real llama.cpp engines behind proxy and scheduler: what each serves is asked, and embeddings are served. */
import { resolve } from 'node:path';
import OpenAI from 'openai';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureLlamaCppPython } from '../../cli/setup/llamacpp-python.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { createProxy, type Proxy } from '../../proxy/create-proxy.ts';
import { createScheduler, type Scheduler } from '../../scheduler/host/create-scheduler.ts';
import { startLlamaCpp, type LlamaCpp } from '../../testkit/llamacpp/launch.ts';

const stateDir = resolve(import.meta.dirname, '../../.fermata');
const setupTimeoutMs = 300_000;
const logger = pino({ level: 'silent' });

describe('real llama.cpp engines', () => {
  const engines: LlamaCpp[] = [];
  let scheduler: Scheduler;
  let proxy: Proxy;
  let client: OpenAI;

  beforeAll(async () => {
    const python = await ensureLlamaCppPython(stateDir, () => undefined);
    engines.push(await startLlamaCpp({ python, model: 'talks', slots: 2, contextTokens: 2_048 }));
    engines.push(
      await startLlamaCpp({ python, model: 'embeds', slots: 2, contextTokens: 2_048, embeddings: true }),
    );
    const { pool, policy, callers } = configFileSchema.parse({
      pool: engines.map(({ url, model }) => ({ id: model, url, engine: 'llamacpp' })),
    });
    scheduler = await createScheduler(
      { host: '127.0.0.1', port: 0, pool, policy, callers, probeIntervalMs: 200 },
      { logger, environment: {} },
    );
    proxy = await createProxy(
      { host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url, redisUrl: null },
      { logger, environment: {} },
    );
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'x', maxRetries: 0 });
  }, setupTimeoutMs);

  afterAll(async () => {
    await proxy?.close();
    await scheduler?.close();
    for (const engine of engines) await engine.close();
  });

  it('tell what they serve, embeddings only where they were started for them', async () => {
    await vi.waitFor(
      async () => {
        const { replicas } = schedulerStatusSchema.parse(
          await (await fetch(`${scheduler.url}/status`)).json(),
        );
        expect(replicas.map(({ id, apis }) => [id, apis])).toEqual([
          ['talks', ['chat', 'completions', 'responses', 'messages']],
          ['embeds', ['chat', 'completions', 'responses', 'messages', 'embeddings']],
        ]);
      },
      { timeout: 20_000, interval: 50 },
    );
    const { data } = (await (await fetch(`${proxy.url}/v1/models`)).json()) as {
      data: { id: string; fermata: { replicas: { apis: string[] }[] } }[];
    };
    expect(data.map(({ id, fermata }) => [id, fermata.replicas[0]?.apis.includes('embeddings')])).toEqual([
      ['talks', false],
      ['embeds', true],
    ]);
  });

  it('serve embeddings of one and of several texts', async () => {
    const { data, usage } = await client.embeddings.create({
      model: 'embeds',
      input: ['a river', 'a stream of water', 'tax law'],
      encoding_format: 'float',
    });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([576, 576, 576]);
    expect(usage.prompt_tokens).toBeGreaterThan(5);
    const one = await client.embeddings.create({ model: 'embeds', input: 'a river' });
    expect(one.data).toHaveLength(1);
  });

  it('are asked for no embeddings that they do not serve', async () => {
    await expect(client.embeddings.create({ model: 'talks', input: 'a river' })).rejects.toMatchObject({
      status: 404,
      code: 'unsupported_api',
      message: expect.stringContaining("no replica serves embeddings for model 'talks'") as string,
    });
  });
});
