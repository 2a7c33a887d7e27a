/** The link to the scheduler is lost and comes back, with a scheduler that knows nothing. */
import { describe, expect, it } from 'vitest';
import { startRealScheduler } from './real-scheduler.ts';
import { startScriptedEngine, type EngineCall, type ScriptedEngine } from './scripted-engine.ts';
import { startScriptedScheduler } from './scripted-scheduler.ts';
import {
  chatBody,
  chatPath,
  chunk,
  closeAfterTest,
  post,
  replica,
  sse,
  startProxy,
  until,
  untilGauge,
  type TestClient,
} from './stack.ts';

const ok = sse(chunk({ content: 'x' }, 'stop'), '[DONE]');
const finish = (call: EngineCall): void => {
  if (!call.response.headersSent) call.head(200);
  call.write(ok);
  call.end();
};

async function startEngine(): Promise<ScriptedEngine> {
  const engine = await startScriptedEngine();
  closeAfterTest(() => engine.close());
  return engine;
}

function turn(proxy: { readonly port: number }, run: string): TestClient {
  return post(proxy, chatPath, chatBody({ stream: true }), { 'x-fermata-run-id': run });
}

const whole = (client: TestClient): Promise<void> =>
  until(() => client.ended() === 'whole', 'the reply is whole');

async function linked(proxy: { readonly url: string }, up: boolean): Promise<void> {
  await untilGauge(proxy, 'fermata_proxy_link_up', up ? 1 : 0);
}

const runOf = (call: EngineCall): unknown => JSON.parse(call.body.toString('utf8'));

describe('a scheduler that is killed and restarted', () => {
  it('loses no held turn, no turn in flight, no place, and not the order', async () => {
    const engine = await startEngine();
    const scheduler = await startRealScheduler([{ id: 'e' as never, url: engine.url, maxConcurrent: 1 }]);
    const { proxy } = await startProxy(scheduler.url);
    const body = (name: string): string => chatBody({ stream: true, user: name });
    const send = (name: string): TestClient =>
      post(proxy, chatPath, body(name), { 'x-fermata-run-id': name });
    const flying = send('flying');
    const flyingCall = await engine.next();
    flyingCall.head(200);
    flyingCall.write(sse(chunk({ content: 'before' })));
    await until(() => flying.chunks.length > 0, 'the first turn streams');
    const held = [send('held-1')];
    await untilGauge(proxy, 'fermata_proxy_held', 1);
    held.push(send('held-2'));
    await scheduler.stop();
    await linked(proxy, false);
    flyingCall.write(sse(chunk({ content: 'during' })));
    await until(() => flying.text().includes('during'), 'the stream goes on without a scheduler');
    held.push(send('arrived-meanwhile'));
    const gone = send('gone');
    gone.leave();
    await scheduler.start();
    await linked(proxy, true);
    flyingCall.write(ok);
    expect(engine.calls).toHaveLength(1);
    flyingCall.end();
    await whole(flying);
    const order: unknown[] = [];
    for (const client of held) {
      const call = await engine.next();
      order.push((runOf(call) as { user: string }).user);
      finish(call);
      await whole(client);
    }
    expect(order).toEqual(['held-1', 'held-2', 'arrived-meanwhile']);
    expect(engine.calls).toHaveLength(4);
  });

  it('keeps each paused run on its replica', async () => {
    const engines = [await startEngine(), await startEngine()];
    const scheduler = await startRealScheduler(
      engines.map((engine, index) => ({ id: `e${index}` as never, url: engine.url })),
    );
    const { proxy } = await startProxy(scheduler.url);
    for (const engine of engines) {
      engine.answer((call) => {
        call.head(200);
        call.write(
          sse(
            chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f' } }] }),
            chunk({}, 'tool_calls'),
          ),
        );
        call.end();
      });
    }
    const replicasOf = async (): Promise<unknown[]> => {
      const clients = ['a', 'b', 'c', 'd'].map((run) => turn(proxy, run));
      const heads = await Promise.all(clients.map((client) => client.head));
      await Promise.all(clients.map(whole));
      return heads.map((head) => head.headers['x-fermata-replica']);
    };
    const before = await replicasOf();
    expect(new Set(before).size).toBe(2);
    await scheduler.stop();
    await linked(proxy, false);
    await scheduler.start();
    await linked(proxy, true);
    expect(await replicasOf()).toEqual(before);
  });
});

describe('a link that is open', () => {
  it('and silent is given up and made anew, with a resync', async () => {
    const engine = await startEngine();
    const scheduler = await startScriptedScheduler({ pool: [replica('e', engine.url)], deaf: true });
    closeAfterTest(() => scheduler.close());
    await startProxy(scheduler.url, { limits: { linkPingMs: 50 } });
    await until(() => scheduler.of('resync').length >= 2, 'the link is made anew');
    expect(scheduler.of('resync').length).toBeGreaterThanOrEqual(2);
  });

  it('tells from time to time which turns still receive bytes', async () => {
    const engine = await startEngine();
    const scheduler = await startScriptedScheduler({ pool: [replica('e', engine.url)] });
    closeAfterTest(() => scheduler.close());
    const { proxy } = await startProxy(scheduler.url, { limits: { progressEveryMs: 50 } });
    await until(() => scheduler.of('resync').length === 1, 'the proxy is linked');
    const silent = turn(proxy, 'silent');
    await engine.next();
    const client = turn(proxy, 'speaking');
    const call = await engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'x' })));
    await until(() => scheduler.of('turnsProgressed').length > 0, 'progress is told');
    const speaking = scheduler.of('turnArrived').find(({ spec }) => spec.run === 'speaking')?.spec.turn;
    expect(scheduler.of('turnsProgressed')[0]?.turns).toEqual([speaking]);
    finish(call);
    await whole(client);
    silent.leave();
  });

  it('is cut when the scheduler says what the proxy does not understand, and turns go on', async () => {
    const engine = await startEngine();
    engine.answer(finish);
    const scheduler = await startScriptedScheduler({ pool: [replica('e', engine.url)] });
    closeAfterTest(() => scheduler.close());
    const { proxy } = await startProxy(scheduler.url);
    await until(() => scheduler.of('resync').length === 1, 'the proxy is linked');
    scheduler.send({ type: 'nonsense' } as never);
    await until(() => scheduler.of('resync').length === 2, 'the link is made anew');
    const client = turn(proxy, 'r');
    await whole(client);
    expect((await client.head).statusCode).toBe(200);
  });
});

describe('a proxy without a scheduler', () => {
  it('that starts first holds turns until there is one', async () => {
    const engine = await startEngine();
    engine.answer(finish);
    const scheduler = await startRealScheduler([{ id: 'e' as never, url: engine.url }]);
    await scheduler.stop();
    const { proxy } = await startProxy(scheduler.url);
    const client = turn(proxy, 'r');
    await untilGauge(proxy, 'fermata_proxy_held', 1);
    expect(engine.calls).toHaveLength(0);
    await scheduler.start();
    await whole(client);
    expect((await client.head).statusCode).toBe(200);
  });

  it('tells a new one its state first: resync, then the ends of runs it missed, then what happens', async () => {
    const engine = await startEngine();
    const pool = [replica('e', engine.url)];
    const first = await startScriptedScheduler({ pool });
    const { proxy } = await startProxy(first.url);
    await until(() => first.of('resync').length === 1, 'the proxy is linked');
    const flying = turn(proxy, 'flying');
    const flyingCall = await engine.next();
    flyingCall.head(200);
    await flying.head;
    const done = turn(proxy, 'finished-meanwhile');
    const doneCall = await engine.next();
    await first.close();
    await linked(proxy, false);
    finish(doneCall);
    await whole(done);
    const held = turn(proxy, 'held');
    await untilGauge(proxy, 'fermata_proxy_held', 1);
    await fetch(`${proxy.url}/v1/runs/ended-meanwhile`, { method: 'DELETE' });
    const second = await startScriptedScheduler({ pool, port: first.port });
    closeAfterTest(() => second.close());
    finish(await engine.next());
    await whole(held);
    expect(second.messages.slice(0, 2)).toMatchObject([
      {
        type: 'resync',
        runs: [{ run: 'finished-meanwhile', phase: 'idle', replica: 'e' }],
        held: [{ spec: { run: 'held' } }],
        inFlight: [{ spec: { run: 'flying' }, replica: 'e', started: false }],
      },
      { type: 'runEnded', run: 'ended-meanwhile' },
    ]);
    expect(second.of('resync')[0]?.proxy).toBe(first.of('resync')[0]?.proxy);
    finish(flyingCall);
    await whole(flying);
  });
});
