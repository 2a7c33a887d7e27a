/** Several proxies on one scheduler: restarts, the loss of one, and the end of a run on another. */
import { describe, expect, it, vi } from 'vitest';
import { lostProxyMs } from '../../scheduler/core/limits.ts';
import { startService } from '../service-process.ts';
import { chatStream } from './doors.ts';
import { answer, ask, eventually, startRealStack, statusOf } from './real-stack.ts';
import { chat, chatBody, chatPath, closeAfterTest, post, startProxy, until } from './stack.ts';

const toolCall = {
  choices: [{ finish_reason: 'tool_calls', message: { tool_calls: [{ id: 'c', function: { name: 'f' } }] } }],
};

const ready = async (url: string): Promise<boolean> => (await ask(`${url}/readyz`)).status === 200;

describe('several proxies on one scheduler', { timeout: 90_000 }, () => {
  it('each tell a new one what they have: places, held turns, and where runs are', async () => {
    const stack = await startRealStack({ places: 2 });
    const { proxy: second } = await startProxy(stack.scheduler.url);
    const proxies = [stack.proxy, second];
    await eventually('the second is ready', () => ready(second.url));
    for (const engine of stack.engines) engine.answer((each) => each.json(200, toolCall));
    const places: unknown[] = [];
    for (const [index, proxy] of [...proxies, ...proxies].entries()) {
      const reply = await chat(proxy, {}, { 'x-fermata-run-id': `run-${index}` });
      places.push(reply.headers['x-fermata-replica']);
    }
    for (const engine of stack.engines) engine.answer(null);
    // One stream in flight.
    const atEngines = stack.engines.map((engine) => engine.next());
    const flying = post(second, chatStream.path, chatStream.body);
    const call = await Promise.race(atEngines);
    for (const engine of stack.engines) engine.forgetWaits();
    await stack.scheduler.stop();
    await eventually(
      'nobody is ready',
      async () => !(await ready(stack.proxy.url)) && !(await ready(second.url)),
    );
    const held = proxies.map((proxy) => post(proxy, chatPath, chatBody(), { 'x-fermata-run-id': 'x' }));
    await stack.scheduler.start();
    await eventually('both have resynced', async () => (await statusOf(stack)).proxies === 2);
    const inFlight = (await statusOf(stack)).replicas.reduce((sum, replica) => sum + replica.inFlight, 0);
    expect(inFlight).toBeGreaterThanOrEqual(1);
    for (const engine of stack.engines) engine.answer((each) => each.json(200, toolCall));
    for (const client of held) expect((await client.head).statusCode).toBe(200);
    const after: unknown[] = [];
    for (const [index, proxy] of [...proxies, ...proxies].entries()) {
      const reply = await chat(proxy, {}, { 'x-fermata-run-id': `run-${index}` });
      after.push(reply.headers['x-fermata-replica']);
    }
    expect(after).toEqual(places);
    expect(new Set(places).size).toBe(2);
    call.head(200);
    call.write(chatStream.first + chatStream.rest);
    call.end();
    await until(() => flying.ended() === 'whole', 'the stream is whole');
  });

  it('kill -9 of one ends its engine requests and its held turns at once, and then frees its places', async () => {
    const stack = await startRealStack({ engines: 1 });
    const [engine] = stack.engines;
    if (engine === undefined) throw new Error('no engine');
    const service = await startService('proxy/main.ts', {
      FERMATA_PROXY_PORT: '0',
      FERMATA_SCHEDULER_URL: stack.scheduler.url,
    });
    closeAfterTest(() => service.kill());
    await eventually('the process is ready', () => ready(service.url), 30_000);
    const doomed = { port: Number(new URL(service.url).port) };
    const client = post(doomed, chatStream.path, chatStream.body);
    const call = await engine.next();
    call.head(200);
    call.write(chatStream.first);
    await until(() => client.text() === chatStream.first, 'the stream has begun');
    const lost = post(doomed, chatPath, chatBody());
    const waiting = post(stack.proxy, chatPath, chatBody(), { 'x-fermata-run-id': 'survivor' });
    const heldTurns = async (): Promise<number> =>
      (await statusOf(stack)).held.reduce((sum, { turns }) => sum + turns, 0);
    await eventually('two turns are held', async () => (await heldTurns()) === 2);

    await service.kill();
    await until(call.aborted, 'its engine request has ended');
    await until(() => client.ended() === 'cut' && lost.ended() === 'cut', 'its clients see it');
    await eventually('its held turn is gone', async () => (await heldTurns()) === 1);
    expect(engine.calls).toHaveLength(1);

    // Its place is kept for a while, in case it was only cut off: that while passes.
    const realNow = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + lostProxyMs + 1_000);
    try {
      (await engine.next()).json(200, answer);
      expect((await waiting.head).statusCode).toBe(200);
      await eventually(
        'nothing is in flight',
        async () => (await statusOf(stack)).replicas[0]?.inFlight === 0,
      );
    } finally {
      clock.mockRestore();
    }
  });

  it('DELETE on one aborts the turn in flight on another, and refuses the one it holds', async () => {
    const stack = await startRealStack({ engines: 1 });
    const [engine] = stack.engines;
    const { proxy: second } = await startProxy(stack.scheduler.url);
    await eventually('the second is ready', () => ready(second.url));
    const headers = { 'x-fermata-run-id': 'r' };
    const flying = post(stack.proxy, chatStream.path, chatStream.body, headers);
    const call = await engine?.next();
    if (call === undefined) throw new Error('no call');
    call.head(200);
    call.write(chatStream.first);
    await until(() => flying.text() === chatStream.first, 'the stream has begun');
    const held = post(stack.proxy, chatPath, chatBody(), headers);
    await eventually('a turn is held', async () => (await statusOf(stack)).held.length === 1);
    const response = await fetch(`${second.url}/v1/runs/r`, { method: 'DELETE' });
    await response.body?.cancel();
    await until(call.aborted, 'the engine request is closed');
    await until(() => flying.ended() === 'cut', 'its client sees it');
    expect((await held.head).statusCode).toBe(409);
    await eventually('nothing is in flight', async () => (await statusOf(stack)).replicas[0]?.inFlight === 0);
    expect(engine?.calls).toHaveLength(1);
  });
});
