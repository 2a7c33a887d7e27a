/** Proxy and scheduler in one process: the same turns, the same order, the same ends, without a connection. */
import { describe, expect, it } from 'vitest';
import { chatStream, chatWhole } from './doors.ts';
import {
  answer,
  ask,
  eventually,
  nothingLeft,
  pauseRun,
  phasesOf,
  secondTurn,
  startRealStack,
  statusOf,
} from './real-stack.ts';
import { chat, chatBody, chatPath, post, startProxy, until } from './stack.ts';

const ready = async (url: string): Promise<boolean> => (await ask(`${url}/readyz`)).status === 200;

describe('a proxy linked with the scheduler of its process', { timeout: 60_000 }, () => {
  it('holds turns and lets them go in their order, one by one', async () => {
    const stack = await startRealStack({ engines: 1, linkedLocally: true });
    const [engine] = stack.engines;
    if (engine === undefined) throw new Error('no engine');
    const first = engine.next();
    const clients = ['a', 'b', 'c'].map((run) =>
      post(stack.proxy, chatPath, chatBody({ user: run }), { 'x-fermata-run-id': run }),
    );
    let call = await first;
    await eventually(
      'two are held',
      async () => (await statusOf(stack)).held.reduce((sum, { turns }) => sum + turns, 0) === 2,
    );
    for (const [index, client] of clients.entries()) {
      // One place: none of the others is there before this one is answered.
      expect(engine.calls).toHaveLength(index + 1);
      const next = engine.next();
      call.json(200, answer);
      expect((await client.head).statusCode).toBe(200);
      if (index < clients.length - 1) call = await next;
    }
    engine.forgetWaits();
    await nothingLeft(stack);
  });

  it('opens no connection to the scheduler and needs no token for it', async () => {
    const stack = await startRealStack({ engines: 1, linkedLocally: true });
    const { proxy } = await startProxy('http://127.0.0.1:9', { openLink: stack.scheduler.openLink });
    await eventually('it is ready', () => ready(proxy.url));
    expect((await ask(`${proxy.url}/readyz`)).text).toContain('the scheduler in this process');
    expect((await statusOf(stack)).proxies).toBe(2);
    await proxy.close();
    await eventually('it has left', async () => (await statusOf(stack)).proxies === 1);
  });

  it('brings a run back to its replica after the scheduler was started anew', async () => {
    const stack = await startRealStack({ linkedLocally: true });
    const index = await pauseRun(stack, 'r');
    await stack.scheduler.stop();
    await eventually('it knows of the loss', async () => !(await ready(stack.proxy.url)));
    const held = secondTurn(stack, chatWhole, 'r');
    await stack.scheduler.start();
    const call = await stack.engines[index]?.next();
    if (call === undefined) throw new Error('no call');
    call.json(200, answer);
    expect((await held.head).statusCode).toBe(200);
    await eventually('the run is idle', async () => (await phasesOf(stack, 'r'))[1] === 'idle');
  });

  it('ends a turn in flight and a held one when their run ends', async () => {
    const stack = await startRealStack({ engines: 1, linkedLocally: true });
    const [engine] = stack.engines;
    const headers = { 'x-fermata-run-id': 'r' };
    const flying = post(stack.proxy, chatStream.path, chatStream.body, headers);
    const call = await engine?.next();
    if (call === undefined) throw new Error('no call');
    call.head(200);
    call.write(chatStream.first);
    await until(() => flying.text() === chatStream.first, 'the stream has begun');
    const waiting = post(stack.proxy, chatPath, chatBody(), headers);
    await eventually('one is held', async () => (await statusOf(stack)).held.length === 1);
    const deleted = await fetch(`${stack.proxy.url}/v1/runs/r`, { method: 'DELETE' });
    expect(deleted.status).toBeLessThan(300);
    await until(call.aborted, 'the engine is told');
    await until(() => flying.ended() === 'cut', 'the stream is cut');
    expect((await waiting.head).statusCode).toBe(409);
    await nothingLeft(stack);
  });

  it('serves turns side by side with a proxy that is linked over a socket', async () => {
    const stack = await startRealStack({ places: 4, linkedLocally: true });
    const { proxy: far } = await startProxy(stack.scheduler.url);
    await eventually('both are ready', () => ready(far.url));
    for (const engine of stack.engines) engine.answer((each) => each.json(200, answer));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        chat(index % 2 === 0 ? stack.proxy : far, {}, { 'x-fermata-run-id': `run-${index % 5}` }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    await nothingLeft(stack);
  });
});
