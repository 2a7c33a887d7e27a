/** Clients that leave at random moments, by the thousand: afterwards nothing of them is left anywhere. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatDoors, chatStream, finishAmid, otherDoors, type Door } from './doors.ts';
import { eventually, gaugesOf, nothingLeft, startRealStack, type RealStack } from './real-stack.ts';
import type { EngineCall } from './scripted-engine.ts';
import { post } from './stack.ts';

const clients = 2_000;
const atOnce = 200;
const placesEach = 25;
const longestWaitMs = 2_500;
const seed = 20_261_129;

const doors: readonly Door[] = [...chatDoors, ...chatDoors, ...otherDoors];

interface Plan {
  readonly door: number;
  /** What the client waits for before it leaves: nothing but time, its engine's side, its first bytes. */
  readonly leaveAfter: 'time' | 'engine' | 'bytes';
  /** Milliseconds from then on. */
  readonly leaveMs: number;
  /** What the engine does, and after how many milliseconds. */
  readonly engine: 'whole' | 'half' | 'silent' | 'full' | 'dies';
  readonly engineMs: number;
}

/** Without bias: it would make most clients leave at once. */
const planArbitrary = fc.noBias(
  fc.record<Plan>({
    door: fc.nat(doors.length - 1),
    leaveAfter: fc.constantFrom('time', 'engine', 'engine', 'bytes', 'bytes'),
    leaveMs: fc.nat(100),
    engine: fc.constantFrom('whole', 'whole', 'half', 'half', 'silent', 'full', 'dies'),
    engineMs: fc.nat(200),
  }),
);

function answerBy(plan: Plan, door: Door): (call: EngineCall) => void {
  return (call) => {
    if (plan.engine === 'silent') return;
    setTimeout(() => {
      if (plan.engine === 'dies') return call.reset();
      if (plan.engine === 'full') return call.json(503, {}, { 'retry-after': '0.05' });
      call.head(200, { 'content-type': door.contentType });
      call.write(door.first);
      if (plan.engine === 'whole') finishAmid(call, door, plan.engineMs);
    }, plan.engineMs);
  };
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Sends a request and leaves at its moment. @param atEngine resolves when its engine has the request. */
async function visit(stack: RealStack, plan: Plan, index: number, atEngine: Promise<void>): Promise<void> {
  const door = doors[plan.door] ?? chatStream;
  const client = post(stack.proxy, door.path, door.body, {
    'x-fermata-run-id': `run-${index}`,
    'x-plan': String(index),
  });
  const bytes = client.head.then((head) => {
    if (client.chunks.length > 0) return;
    return new Promise<void>((resolve) => {
      head.once('data', () => resolve());
      head.once('close', resolve);
    });
  });
  const moments = { time: Promise.resolve(), engine: atEngine, bytes: bytes.catch(() => undefined) };
  // Some of what is waited for never comes.
  await Promise.race([moments[plan.leaveAfter], pause(longestWaitMs)]);
  await pause(plan.leaveMs);
  await new Promise<void>((resolve) => {
    if (client.request.closed) resolve();
    client.request.once('close', resolve);
    client.leave();
  });
}

const openSockets = (): number => process.getActiveResourcesInfo().filter((name) => /TCP/.test(name)).length;

describe(`${clients} clients that leave at random moments`, { timeout: 60_000 }, () => {
  it('leave no place, no held turn and no socket behind', async () => {
    // No probe meanwhile: its connections are not the clients'.
    const stack = await startRealStack({ places: placesEach, probeIntervalMs: 3_600_000 });
    const plans = fc.sample(planArbitrary, { numRuns: clients, seed });
    const reached: (() => void)[] = [];
    for (const engine of stack.engines) {
      engine.answer((call) => {
        const index = Number(call.headers['x-plan']);
        const plan = plans[index];
        reached[index]?.();
        if (plan !== undefined) answerBy(plan, doors[plan.door] ?? chatStream)(call);
      });
    }
    const before = openSockets();
    let next = 0;
    let mostHeld = 0;
    let mostActive = 0;
    const visitor = async (): Promise<void> => {
      for (let index = next++; index < plans.length; index = next++) {
        const plan = plans[index];
        const atEngine = new Promise<void>((resolve) => {
          reached[index] = resolve;
        });
        if (plan !== undefined) await visit(stack, plan, index, atEngine);
      }
    };
    const over = new AbortController();
    const watch = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const { active, held } = await gaugesOf(stack.proxy);
        mostHeld = Math.max(mostHeld, held);
        mostActive = Math.max(mostActive, active);
        await pause(100);
      }
    };
    const watched = watch();
    await Promise.all(Array.from({ length: atOnce }, visitor)).finally(() => over.abort());
    await watched;
    const leftAt = performance.now();
    await nothingLeft(stack);
    // Kept-alive connections to the engines close by themselves, within 4 s.
    await eventually(
      'no socket is left',
      async () => {
        await Promise.resolve();
        return openSockets() <= before;
      },
      6_000 - (performance.now() - leftAt),
    );
    // It was a load: turns were held and in flight, and clients left in every phase.
    expect(mostHeld).toBeGreaterThan(0);
    expect(mostActive).toBeGreaterThan(1);
    const left = stack.log.filter((line) => line['reason'] === 'the client left');
    const phases = {
      held: left.filter((line) => line['outcome'] === 'abandoned'),
      beforeFirstByte: left.filter((line) => line['outcome'] === 'failed' && line['status'] === 0),
      amidReply: left.filter((line) => line['outcome'] === 'failed' && line['status'] === 200),
    };
    for (const turns of Object.values(phases)) expect(turns.length).toBeGreaterThan(clients / 100);
    expect(stack.engines.flatMap(({ calls }) => calls).filter((call) => !call.response.closed)).toEqual([]);
    // A few leave before the proxy has read who they are; nobody is counted twice.
    const seen = stack.log.filter((line) => line['msg'] === 'turn').length;
    expect([seen <= clients, seen > clients * 0.9]).toEqual([true, true]);
    expect(stack.log.filter((line) => line['msg'] === 'fault')).toEqual([]);

    // The proxy is as good as new.
    for (const engine of stack.engines) engine.answer((call) => call.json(200, {}));
    const after = await Promise.all(
      Array.from(
        { length: 10 },
        async () => (await post(stack.proxy, chatStream.path, chatStream.body).head).statusCode,
      ),
    );
    expect(after).toEqual(Array(10).fill(200));
  });
});
