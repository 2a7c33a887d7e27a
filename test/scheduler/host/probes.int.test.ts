/** Probes on real sockets, and what the scheduler shows of them. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { usableShare } from '../../../scheduler/core/capacity.ts';
import { turnSpec } from './fake-proxy.ts';
import { engine, proxy, scheduler, statusBecomes, statusOf } from './stand.ts';

const vllm = (running: number, waiting: number): string =>
  `vllm:num_requests_running{model_name="m"} ${running}\nvllm:num_requests_waiting{model_name="m"} ${waiting}\n`;

it('limits a replica by what its engine reports, and no longer once it reports nothing', async () => {
  const target = await engine();
  target.metrics = vllm(1, 3);
  const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'vllm' }]);
  await statusBecomes(url, (status) => {
    expect(status.replicas[0]).toMatchObject({ running: 1, waiting: 3, limit: 1 });
  });
  const link = await proxy(url);
  for (let turn = 0; turn < 3; turn += 1) link.say({ type: 'turnArrived', spec: turnSpec(), heldForMs: 0 });
  await statusBecomes(url, (status) => expect(status.held[0]?.turns).toBe(2));
  target.metrics = null;
  await link.hears('admit', 3);
  expect((await statusOf(url)).replicas[0]).toMatchObject({ running: null, waiting: null, limit: null });
});

it('reads the engines behind a router', async () => {
  const [router, first, second] = [await engine(), await engine(), await engine()];
  first.metrics = vllm(2, 0);
  second.metrics = vllm(3, 1);
  const { url } = await scheduler([
    { id: 'a', url: router.url, engine: 'vllm', loadFrom: [first.url, second.url] },
  ]);
  await statusBecomes(url, (status) => expect(status.replicas[0]).toMatchObject({ running: 5, waiting: 1 }));
  expect(router.asked.map(({ path }) => path)).not.toContain('/metrics');
});

it.each([
  ['vllm', {}, 'vllm:cache_config_info{block_size="16",num_gpu_blocks="2048"} 1.0\n', 32_768],
  ['sglang', { '/get_server_info': { max_total_num_tokens: 20_000 } }, 'sglang:num_queue_reqs 0\n', 20_000],
  ['sglang', { '/server_info': { max_total_num_tokens: 9_000 } }, 'sglang:num_queue_reqs 0\n', 9_000],
  [
    'llamacpp',
    { '/props': { total_slots: 4, default_generation_settings: { n_ctx: 2_048 } } },
    'llamacpp:requests_deferred 0\n',
    8_192,
  ],
  ['llamacpp', { '/props': { total_slots: 0 } }, 'llamacpp:requests_deferred 0\n', null],
] as const)('takes the memory of a %s from %j and %j', async (kind, pages, metrics, reported) => {
  const target = await engine();
  target.pages = pages;
  target.metrics = metrics;
  const { url } = await scheduler([{ id: 'a', url: target.url, engine: kind }]);
  await statusBecomes(url, (status) => expect(status.replicas[0]?.healthy).toBe(true));
  expect((await statusOf(url)).replicas[0]?.residency).toMatchObject({
    reportedTokens: reported,
    capacityTokens: reported === null ? null : Math.round(reported * usableShare),
    capacityReason: reported === null ? 'unlimited' : 'reported',
    slots: kind === 'llamacpp' && reported !== null ? 4 : null,
    capacityContexts: null,
  });
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text.includes('fermata_scheduler_capacity_tokens{replica="a",reason="reported"}')).toBe(
    reported !== null,
  );
});

it('holds turns while a replica is unhealthy and says so when asked whether it is ready', async () => {
  const target = await engine();
  target.healthy = false;
  const { url } = await scheduler([{ id: 'a', url: target.url, models: ['m'] }]);
  await statusBecomes(url, (status) => expect(status.replicas[0]?.healthy).toBe(false));
  const refused = await fetch(`${url}/readyz`);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toEqual({
    ready: false,
    reasons: ['replica a is unhealthy', "no healthy replica serves model 'm'"],
  });
  const link = await proxy(url);
  link.say({ type: 'turnArrived', spec: turnSpec(), heldForMs: 0 });
  await statusBecomes(url, (status) => expect(status.held).toHaveLength(1));
  target.healthy = true;
  await link.hears('admit');
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

it('takes a replica that accepts and never answers for unhealthy', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  const { port } = silent.address() as AddressInfo;
  try {
    const { url } = await scheduler([{ id: 'a', url: `http://127.0.0.1:${port}` }]);
    await statusBecomes(url, (status) => expect(status.replicas[0]?.healthy).toBe(false));
  } finally {
    silent.close();
  }
});

it('shows a replica its key, from the variable that its entry names', async () => {
  const target = await engine();
  const { url } = await scheduler(
    [{ id: 'a', url: target.url, engine: 'vllm', apiKeyEnv: 'POOL_KEY' }],
    {},
    { POOL_KEY: 'secret' },
  );
  await statusBecomes(url, (status) => expect(status.replicas[0]?.healthy).toBe(true));
  expect(target.asked.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/health', '/v1/models', '/metrics', '/openapi.json']),
  );
  expect(target.asked.every(({ authorization }) => authorization === 'Bearer secret')).toBe(true);
  for (const path of ['/status', '/debug/state', '/metrics']) {
    expect(await (await fetch(url + path)).text()).not.toContain('secret');
  }
});

it('does not ask for models that the entry names', async () => {
  const target = await engine(['other']);
  const { url } = await scheduler([{ id: 'a', url: target.url, models: ['m'] }]);
  await statusBecomes(url, (status) =>
    expect(status.replicas[0]).toMatchObject({ healthy: true, models: ['m'] }),
  );
  expect(target.asked.map(({ path }) => path)).not.toContain('/v1/models');
});

it('counts decisions and shows gauges without the name of any run', async () => {
  const { url } = await scheduler([{ id: 'a', url: (await engine()).url, maxConcurrent: 1 }]);
  const link = await proxy(url);
  const [first, second] = [turnSpec({ run: 'secret-run' }), turnSpec({ class: 'batch' })];
  link.say({ type: 'turnArrived', spec: first, heldForMs: 0 });
  link.say({ type: 'turnArrived', spec: second, heldForMs: 0 });
  link.say({ type: 'turnArrived', spec: turnSpec({ model: 'x' }), heldForMs: 0 });
  await link.hears('reject');
  await link.hears('admit');
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text).toContain('fermata_scheduler_decisions_total{outcome="admitted",class="interactive"} 1');
  expect(text).toContain('fermata_scheduler_decisions_total{outcome="rejected_unknown_model",class=""} 1');
  expect(text).toContain('fermata_scheduler_hold_seconds_count{class="interactive",resumed="false"} 1');
  expect(text).toContain('fermata_scheduler_held_turns 1');
  expect(text).toContain('fermata_scheduler_in_flight_turns{replica="a"} 1');
  expect(text).toContain('fermata_scheduler_caller_turns{caller="alice",state="held"} 1');
  expect(text).not.toContain('secret-run');
  expect(await (await fetch(`${url}/debug/state`)).text()).toContain('secret-run');
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
});

it('says which port it cannot have', async () => {
  const target = await engine();
  const first = await scheduler([{ id: 'a', url: target.url }]);
  await expect(scheduler([{ id: 'a', url: target.url }], { port: first.port })).rejects.toThrow('EADDRINUSE');
});
