/** The scheduler on real sockets: a WebSocket client plays the proxy, a tiny HTTP server the engine. */
import { describe, expect, it } from 'vitest';
import type { ReplicaId, RunId } from '../../../contracts/ids.ts';
import { openLink, turnSpec } from './fake-proxy.ts';
import { engine, proxy, scheduler, settings, statusBecomes, statusOf } from './stand.ts';

it('admits the first turn as soon as the first probe has found the replica', async () => {
  const { url: engineUrl } = await engine();
  const { url } = await scheduler([{ id: 'a', url: engineUrl }], { probeIntervalMs: 60_000 });
  const link = await proxy(url);
  const spec = turnSpec();
  link.say({ type: 'turnArrived', spec, heldForMs: 0 });
  expect(await link.hears('admit')).toEqual([{ type: 'admit', turn: spec.turn, replica: 'a' }]);
  expect((await statusOf(url)).replicas[0]).toMatchObject({ healthy: true, models: ['m'], inFlight: 1 });
});

describe('a link is closed with a reason', () => {
  it.each([
    ['{"type":"turnArrived"}', 'spec'],
    ['{"type":"turnTeleported"}', 'type'],
    ['not json', 'not JSON'],
    [`{"type":"turnAbandoned","turn":"t","${'x'.repeat(500)}":1}`, 'Unrecognized key'],
  ])('when a proxy says %j', async (message, expected) => {
    const { url } = await scheduler([{ id: 'a', url: (await engine()).url }]);
    const link = await proxy(url);
    link.say(message);
    const { code, reason } = await link.closed;
    expect(code).toBe(1008);
    expect(reason).toContain(expected);
    await statusBecomes(url, (status) => expect(status.proxies).toBe(0));
  });

  it('when a proxy reports before it has resynced', async () => {
    const { url } = await scheduler([{ id: 'a', url: (await engine()).url }]);
    const link = await openLink(url);
    link.say({ type: 'turnAbandoned', turn: turnSpec().turn });
    expect(await link.closed).toEqual({ code: 1008, reason: 'turnAbandoned came before resync' });
  });
});

it('refuses a WebSocket anywhere but on /link', async () => {
  const { url } = await scheduler([{ id: 'a', url: (await engine()).url }]);
  await expect(openLink(`${url}/elsewhere`)).rejects.toThrow('404');
});

it('drops the held turns of a proxy whose link breaks, and admits those of others', async () => {
  const { url } = await scheduler([{ id: 'a', url: (await engine()).url, maxConcurrent: 1 }]);
  const [first, second] = [await proxy(url, 'p1'), await proxy(url, 'p2')];
  const [busy, gone, kept] = [turnSpec(), turnSpec(), turnSpec()];
  second.say({ type: 'turnArrived', spec: busy, heldForMs: 0 });
  await second.hears('admit');
  first.say({ type: 'turnArrived', spec: gone, heldForMs: 0 });
  await statusBecomes(url, (status) => expect(status.held).toHaveLength(1));
  second.say({ type: 'turnArrived', spec: kept, heldForMs: 0 });
  first.close();
  await statusBecomes(url, (status) => expect(status.proxies).toBe(1));
  second.say({ type: 'turnFinished', turn: busy.turn, outcome: 'done' });
  expect((await second.hears('admit', 2)).map(({ turn }) => turn)).toEqual([busy.turn, kept.turn]);
});

it('takes a new link of the same proxy for the old one', async () => {
  const { url } = await scheduler([{ id: 'a', url: (await engine()).url, maxConcurrent: 1 }]);
  const before = await proxy(url, 'p1');
  const [flies, waits] = [turnSpec(), turnSpec()];
  before.say({ type: 'turnArrived', spec: flies, heldForMs: 0 });
  before.say({ type: 'turnArrived', spec: waits, heldForMs: 0 });
  await before.hears('admit');
  const after = await proxy(url, 'p1', {
    inFlight: [{ spec: flies, replica: 'a', started: true, admittedForMs: 10 }],
    held: [{ spec: waits, heldForMs: 10 }],
  });
  await before.closed;
  expect((await statusOf(url)).proxies).toBe(1);
  after.say({ type: 'turnFinished', turn: flies.turn, outcome: 'done' });
  expect((await after.hears('admit')).map(({ turn }) => turn)).toEqual([waits.turn]);
});

it('keeps order, places and affinity over a restart, after the proxies have resynced', async () => {
  const [a, b] = [await engine(), await engine()];
  const pool = [
    { id: 'a', url: a.url, maxConcurrent: 1 },
    { id: 'b', url: b.url, maxConcurrent: 1 },
  ];
  const before = await scheduler(pool);
  const link = await proxy(before.url);
  const [onA, onB, late] = [turnSpec(), turnSpec(), turnSpec()];
  for (const spec of [onA, onB]) link.say({ type: 'turnArrived', spec, heldForMs: 0 });
  await link.hears('admit', 2);
  link.say({ type: 'turnArrived', spec: late, heldForMs: 0 });
  await statusBecomes(before.url, (status) => expect(status.held).toHaveLength(1));
  await before.close();
  await link.closed;

  const after = await scheduler(pool, { port: before.port });
  const resumes = turnSpec({ run: 'paused-on-b' });
  const early = turnSpec();
  const paused = { run: 'paused-on-b' as RunId, class: 'interactive', caller: late.caller } as const;
  const again = await proxy(after.url, 'p1', {
    inFlight: [onA, onB].map((spec, index) => ({
      spec,
      replica: ['a', 'b'][index],
      started: true,
      admittedForMs: 500,
    })),
    held: [late, resumes, early].map((spec, index) => ({ spec, heldForMs: [100, 50, 5_000][index] })),
    runs: [{ ...paused, replica: 'b' as ReplicaId, phase: 'paused', footprintTokens: 9, idleForMs: 900 }],
  });
  await statusBecomes(after.url, (status) => {
    expect(status.replicas.map(({ inFlight }) => inFlight)).toEqual([1, 1]);
    expect(status.held).toMatchObject([{ turns: 3 }]);
  });
  again.say({ type: 'turnFinished', turn: onA.turn, outcome: 'done' });
  expect(await again.hears('admit', 1)).toMatchObject([{ turn: early.turn, replica: 'a' }]);
  again.say({ type: 'turnFinished', turn: onB.turn, outcome: 'done' });
  expect((await again.hears('admit', 2))[1]).toMatchObject({ turn: resumes.turn, replica: 'b' });
  again.say({ type: 'turnFinished', turn: early.turn, outcome: 'done' });
  expect((await again.hears('admit', 3))[2]).toMatchObject({ turn: late.turn, replica: 'a' });
});

it('tells the proxies of another pool, and admits there', async () => {
  const [a, b] = [await engine(['m']), await engine(['n'])];
  const running = await scheduler([{ id: 'a', url: a.url }]);
  const link = await proxy(running.url);
  const next = settings([{ id: 'b', url: b.url }]);
  running.reconfigure(next);
  await statusBecomes(running.url, (status) => {
    expect(status.replicas).toMatchObject([{ id: 'b', healthy: true, models: ['n'] }]);
  });
  const spec = turnSpec({ model: 'n' });
  link.say({ type: 'turnArrived', spec, heldForMs: 0 });
  expect(await link.hears('admit')).toMatchObject([{ turn: spec.turn, replica: 'b' }]);
  expect(link.heard.findLast((message) => message.type === 'pool')).toMatchObject({
    replicas: [{ id: 'b', models: ['n'], healthy: true, apis: ['chat'] }],
  });
});
