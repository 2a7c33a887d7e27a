/**
 * The failure table of the proxy, row by row: real proxy, real scheduler, scripted engines, real sockets.
 * After each row nothing is left of the turn, its run is idle, and its retry goes to the replica that has
 * its context, before whoever came after its first try.
 */
import { describe, expect, it } from 'vitest';
import { startBlackhole } from './blackhole.ts';
import { chatDoors, chatStream, otherDoors, type Door } from './doors.ts';
import {
  answer,
  eventually,
  finishCall,
  gaugesOf,
  nothingLeft,
  pauseRun,
  phasesOf,
  secondTurn,
  startRealStack,
  statusOf,
  takeAllPlaces,
  type RealStack,
} from './real-stack.ts';
import { startScriptedEngine, type EngineCall, type ScriptedEngine } from './scripted-engine.ts';
import { chat, chatBody, chatPath, closeAfterTest, post, until, type TestClient } from './stack.ts';

interface Situation {
  readonly stack: RealStack;
  readonly door: Door;
  /** Engine and index of the replica where the run is paused. */
  readonly home: ScriptedEngine;
  readonly homeIndex: number;
  send(): TestClient;
}

/** Makes the second turn of the paused run fail in its way, and checks what its client sees. */
type Row = (situation: Situation) => Promise<void>;

const gone = (client: TestClient): Promise<void> =>
  until(() => client.ended() !== null, 'the reply has ended');

async function begun({ home, door, send }: Situation): Promise<{ client: TestClient; call: EngineCall }> {
  const client = send();
  const call = await home.next();
  call.head(200, { 'content-type': door.contentType });
  call.write(door.first);
  await until(() => client.text() === door.first, 'the first piece has come');
  return { client, call };
}

async function errorOf(client: TestClient): Promise<{ status: number; message: string; code: unknown }> {
  const head = await client.head;
  await gone(client);
  const body = JSON.parse(client.text()) as { error: { message: string; code?: string; type: string } };
  return { status: head.statusCode ?? 0, message: body.error.message, code: body.error.code };
}

/** Puts something else on the port of the run's replica, which the scheduler still takes for healthy. */
async function replaceHome({ stack, home, homeIndex }: Situation): Promise<() => Promise<void>> {
  await home.close();
  return async () => {
    const engine = await startScriptedEngine(home.port);
    stack.engines[homeIndex] = engine;
  };
}

const refusal =
  (status: number, body: string): Row =>
  async ({ home, send }) => {
    const client = send();
    const call = await home.next();
    call.head(status, { 'content-type': 'application/json', 'retry-after': '7' });
    call.write(body);
    call.end();
    const head = await client.head;
    await gone(client);
    expect([head.statusCode, head.headers['retry-after'], client.text()]).toEqual([status, '7', body]);
  };

const rows: Readonly<Record<string, Row>> = {
  'the client leaves while its turn is held': async ({ stack, send }) => {
    const blockers = await takeAllPlaces(stack);
    const client = send();
    await eventually('the turn is held', async () => (await gaugesOf(stack.proxy)).held === 1);
    client.leave();
    await eventually('nothing is held', async () => (await gaugesOf(stack.proxy)).held === 0);
    for (const call of blockers) call.json(200, answer);
    await nothingLeft(stack);
    // The blockers, and the first turn of the run.
    expect(stack.engines.flatMap(({ calls }) => calls)).toHaveLength(3);
  },
  'the client leaves while its turn is being admitted': async ({ stack, send }) => {
    const blockers = await takeAllPlaces(stack);
    const client = send();
    await eventually('the turn is held', async () => (await gaugesOf(stack.proxy)).held === 1);
    for (const call of blockers) call.json(200, answer);
    client.leave();
    await gone(client);
  },
  'the client leaves before the first byte': async ({ home, send }) => {
    const client = send();
    const call = await home.next();
    client.leave();
    await until(call.aborted, 'the engine request is closed');
  },
  'the client leaves amid the reply': async (situation) => {
    const { client, call } = await begun(situation);
    client.leave();
    await until(call.aborted, 'the engine request is closed');
  },
  'the client leaves while its turn waits to be held again': async ({ stack, home, send }) => {
    const before = home.calls.length;
    const client = send();
    (await home.next()).json(503, {}, { 'retry-after': '60' });
    await eventually('it waits', async () => {
      const { replicas } = await statusOf(stack);
      return replicas.every(({ inFlight }) => inFlight === 0) && (await gaugesOf(stack.proxy)).held === 1;
    });
    client.leave();
    await nothingLeft(stack);
    expect(home.calls.length).toBe(before + 1);
  },
  'the engine refuses the connection': async (situation) => {
    const restore = await replaceHome(situation);
    const sentAt = performance.now();
    const error = await errorOf(situation.send());
    // At once: long before the connect timeout.
    expect(performance.now() - sentAt).toBeLessThan(1_500);
    expect(error.status).toBe(502);
    expect(error.message).toMatch(new RegExp(`^engine e${situation.homeIndex}: connect ECONNREFUSED`));
    await restore();
  },
  'the engine takes no connection': async (situation) => {
    const restore = await replaceHome(situation);
    const hole = await startBlackhole(situation.home.port);
    const sentAt = performance.now();
    const error = await errorOf(situation.send());
    expect(error.status).toBe(502);
    expect(error.message).toMatch(new RegExp(`^engine e${situation.homeIndex}: Connect Timeout`));
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(1_900);
    await hole.close();
    await restore();
  },
  'the engine dies before the first byte, and the run is pinned': async ({
    stack,
    home,
    homeIndex,
    send,
  }) => {
    const client = send();
    (await home.next()).reset();
    const error = await errorOf(client);
    expect(error.status).toBe(502);
    expect(error.message).toMatch(new RegExp(`^engine e${homeIndex}: `));
    expect(stack.engines[1 - homeIndex]?.calls).toHaveLength(0);
  },
  'the engine dies amid the reply': async (situation) => {
    const { client, call } = await begun(situation);
    call.reset();
    await gone(client);
    expect([client.ended(), client.text()]).toEqual(['cut', situation.door.first]);
  },
  'the engine stays silent before the first byte': async ({ stack, home, send }) => {
    stack.scheduler.setPolicy({ streamIdleMs: 1_000 });
    const client = send();
    const call = await home.next();
    const error = await errorOf(client);
    expect(error.status).toBe(504);
    await until(call.aborted, 'the engine request is closed');
  },
  'the engine falls silent amid the reply': async (situation) => {
    situation.stack.scheduler.setPolicy({ streamIdleMs: 1_000 });
    const { client, call } = await begun(situation);
    await gone(client);
    expect([client.ended(), client.text()]).toEqual(['cut', situation.door.first]);
    await until(call.aborted, 'the engine request is closed');
  },
  'the engine refuses with 429': refusal(429, '{"error" : {"message":"slow down", "odd": 1.0}}'),
  'the engine refuses with 500': refusal(500, '{"error" : {"message":"out of memory"}}'),
  'the engine refuses with 400': refusal(400, '{"error" : {"message":"no such field"}}'),
  'the engine\u2019s queue stays full': async ({ stack, send }) => {
    let asked = 0;
    for (const engine of stack.engines) {
      engine.answer((call) => call.json(503, { full: (asked += 1) }));
    }
    const client = send();
    const head = await client.head;
    await gone(client);
    for (const engine of stack.engines) engine.answer(null);
    expect([head.statusCode, client.text(), head.headers['x-should-retry'], asked]).toEqual([
      503,
      '{"full":4}',
      'false',
      4,
    ]);
  },
};

/** Those during which the scheduler must not find out by itself that the replica is away. */
const replacesEngine = new Set(['the engine refuses the connection', 'the engine takes no connection']);

/** Those in which the turn never began: the run is as it was. */
const neverBegins = new Set([
  'the client leaves while its turn is held',
  'the client leaves while its turn is being admitted',
]);

/** Resolves with the replica of the run and the one that its retry went to. */
async function playRow(row: Row, door: Door, name: string): Promise<{ home: string; retriedOn: unknown }> {
  const stack = await startRealStack(replacesEngine.has(name) ? { probeIntervalMs: 3_600_000 } : {});
  const homeIndex = await pauseRun(stack, 'r');
  const home = stack.engines[homeIndex];
  if (home === undefined) throw new Error('the run is nowhere');
  await row({ stack, door, home, homeIndex, send: () => secondTurn(stack, door, 'r') });
  await nothingLeft(stack);
  stack.scheduler.setPolicy({});
  if (!neverBegins.has(name)) await expectIdle(stack);
  return { home: `e${homeIndex}`, retriedOn: await retryFirst(stack, door, homeIndex) };
}

async function expectIdle(stack: RealStack): Promise<void> {
  expect(await phasesOf(stack, 'r')).toEqual(['idle', 'idle']);
}

/** Both places are taken and a stranger waits: the retry goes before it, to where its context is. */
async function retryFirst(stack: RealStack, door: Door, homeIndex: number): Promise<unknown> {
  const blockers = await takeAllPlaces(stack);
  const heldNow = async (count: number): Promise<void> =>
    await eventually(`${count} held`, async () => (await gaugesOf(stack.proxy)).held === count);
  const stranger = post(stack.proxy, chatPath, chatBody(), { 'x-fermata-run-id': 'stranger' });
  await heldNow(1);
  const retry = secondTurn(stack, door, 'r');
  await heldNow(2);
  blockers[homeIndex]?.json(200, answer);
  const call = await stack.engines[homeIndex]?.next();
  if (call === undefined) throw new Error('no engine');
  expect(call.url).toBe(door.path);
  finishCall(call, door);
  const head = await retry.head;
  await gone(retry);
  expect([head.statusCode, retry.ended()]).toEqual([200, 'whole']);
  expect(retry.text()).toBe(door.first + door.rest);
  (await stack.engines[homeIndex]?.next())?.json(200, answer);
  await gone(stranger);
  blockers[1 - homeIndex]?.json(200, answer);
  await nothingLeft(stack);
  return head.headers['x-fermata-replica'];
}

describe.each(chatDoors)('failures of a turn: $name', (door) => {
  it.each(Object.entries(rows))('%s', async (name, row) => {
    const { home, retriedOn } = await playRow(row, door, name);
    expect(retriedOn).toBe(home);
  });
});

const spotChecks = [
  'the client leaves before the first byte',
  'the client leaves amid the reply',
  'the engine dies before the first byte, and the run is pinned',
  'the engine dies amid the reply',
  'the engine refuses with 429',
  'the engine\u2019s queue stays full',
];

describe.each(otherDoors)('failures of a turn: $name', (door) => {
  it.each(Object.entries(rows).filter(([name]) => spotChecks.includes(name)))('%s', async (name, row) => {
    const { home, retriedOn } = await playRow(row, door, name);
    expect(retriedOn).toBe(home);
  });
});

describe('an engine that dies before its first byte', () => {
  it.each([...chatDoors, ...otherDoors])('is not noticed when the run may move: $name', async (door) => {
    const stack = await startRealStack();
    const [one, other] = stack.engines;
    one?.answer((call) => call.reset());
    other?.answer((call) => call.reset());
    let served = 0;
    // Whichever comes first dies, whichever comes second answers.
    for (const engine of stack.engines) {
      engine.answer((call) => {
        served += 1;
        if (served === 1) call.reset();
        else finishCall(call, door);
      });
    }
    const client = post(stack.proxy, door.path, door.body, { 'x-fermata-run-id': 'r' });
    const head = await client.head;
    await gone(client);
    expect([head.statusCode, client.text()]).toEqual([200, door.first + door.rest]);
    expect(stack.engines.map(({ calls }) => calls.length)).toEqual([1, 1]);
    await nothingLeft(stack);
  });

  it('is not followed by another try when the request belongs to what only that replica has', async () => {
    const stack = await startRealStack();
    for (const engine of stack.engines) engine.answer((call) => call.reset());
    for (const more of [
      { previous_response_id: 'resp_1' },
      { background: true },
      { conversation: 'conv_1' },
    ]) {
      const before = stack.engines.reduce((sum, { calls }) => sum + calls.length, 0);
      const client = post(
        stack.proxy,
        '/v1/responses',
        JSON.stringify({ model: 'm-test', input: 'x', ...more }),
      );
      expect((await errorOf(client)).status).toBe(502);
      expect(stack.engines.reduce((sum, { calls }) => sum + calls.length, 0)).toBe(before + 1);
    }
    await nothingLeft(stack);
  });
});

describe('no healthy replica', () => {
  it('lets the turn wait, readiness says so, and the turn is served when one is back', async () => {
    const stack = await startRealStack({ engines: 1 });
    const [engine] = stack.engines;
    if (engine === undefined) throw new Error('no engine');
    await engine.close();
    const ready = async (): Promise<number> => (await fetch(`${stack.proxy.url}/readyz`)).status;
    await eventually('the proxy is unready', async () => (await ready()) === 503);
    const told = (await (await fetch(`${stack.proxy.url}/readyz`)).json()) as {
      dependencies: { replicas: unknown };
    };
    expect(told.dependencies.replicas).toMatchObject({ healthy: 0, of: 1, modelsWithout: ['m-test'] });
    const client = post(stack.proxy, chatPath, chatBody());
    await eventually('the turn waits', async () => (await gaugesOf(stack.proxy)).held === 1);
    const back = await startScriptedEngine(engine.port);
    closeAfterTest(() => back.close());
    back.answer((call) => call.json(200, answer));
    expect((await client.head).statusCode).toBe(200);
    await gone(client);
    await eventually('the proxy is ready', async () => (await ready()) === 200);
    await nothingLeft(stack);
  });
});

describe('a request that is refused before any engine', () => {
  it.each<[string, { body?: string; headers?: Record<string, string> }, number, string]>([
    ['an unknown model', { body: chatBody({ model: 'nobody' }) }, 404, 'unknown_model'],
    ['bad JSON', { body: '{"model":"m-test",' }, 400, 'invalid_json'],
    ['a bad header', { headers: { 'x-fermata-class': 'urgent' } }, 400, 'invalid_header'],
    ['a body too large', { body: chatBody({ pad: 'x'.repeat(2_000) }) }, 413, 'body_too_large'],
  ])('%s', async (_, { body, headers }, status, code) => {
    const stack = await startRealStack({ limits: { bodyBytes: 1_000 } });
    const client = post(stack.proxy, chatPath, body ?? chatBody(), { 'x-fermata-run-id': 'r', ...headers });
    const error = await errorOf(client);
    expect([error.status, error.code]).toEqual([status, code]);
    expect(stack.engines.flatMap(({ calls }) => calls)).toEqual([]);
    await nothingLeft(stack);
    expect((await statusOf(stack)).runs).toEqual([]);
  });

  it('too many held turns, with Retry-After, and the others keep their places', async () => {
    const stack = await startRealStack({ policy: { maxHeld: 1 } });
    const blockers = await takeAllPlaces(stack);
    const held = post(stack.proxy, chatPath, chatBody());
    await eventually('one is held', async () => (await gaugesOf(stack.proxy)).held === 1);
    const refused = await chat(stack.proxy);
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ error: { code: 'overloaded' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    for (const engine of stack.engines) engine.answer((call) => call.json(200, answer));
    for (const call of blockers) call.json(200, answer);
    expect((await held.head).statusCode).toBe(200);
    await gone(held);
    await nothingLeft(stack);
  });
});

it('an error of an engine is in the words of each endpoint', async () => {
  const stack = await startRealStack();
  for (const engine of stack.engines) engine.answer((call) => call.reset());
  const bodies: unknown[] = [];
  for (const door of [chatStream, ...otherDoors]) {
    const client = post(stack.proxy, door.path, door.body);
    await client.head;
    await gone(client);
    bodies.push(JSON.parse(client.text()));
  }
  const [chatError, completionsError, messagesError, responsesError] = bodies;
  for (const error of [chatError, completionsError, responsesError]) {
    expect(error).toMatchObject({ error: { type: 'server_error', code: 'engine_unreachable' } });
  }
  expect(messagesError).toMatchObject({ type: 'error', error: { type: 'api_error' } });
});
