/**
 * kill -9 of the scheduler for ten seconds under load, two proxies before two engines: no request fails,
 * every run stays on its replica, and turns are admitted in the order in which they came.
 */
import { describe, expect, it } from 'vitest';
import type { EngineCall } from './scripted-engine.ts';
import { chat, startProxy, until } from './stack.ts';
import { eventually, gaugesOf } from './real-stack.ts';
import { startEngines, startSchedulerProcess } from './two-proxies.ts';

const downMs = 10_000;
const runs = 12;
const placesEach = 2;
const strangerCount = 10;
const turnMs = 150;
/** Long enough that the pool can serve all. */
const pauseMs = 600;

interface Served {
  readonly run: string;
  readonly turn: number;
  readonly status: number;
  readonly replica: string;
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

const toolCall = {
  choices: [
    {
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
    },
  ],
};

describe('kill -9 of the scheduler for 10 s under load', { timeout: 120_000 }, () => {
  it('fails no request, moves no run, and keeps the order of arrival', async () => {
    // Two for the runs, and one that serves strangers one by one, so that it sees their order.
    const engines = await startEngines(3);
    const scheduler = await startSchedulerProcess(
      engines.map(({ url }, index) => ({
        id: `e${index}`,
        url,
        apis: ['chat'],
        models: [index < 2 ? 'm-test' : 'm-solo'],
        maxConcurrent: index < 2 ? placesEach : 1,
      })),
      // Longer than a scheduler may be away and start: every next turn is bound to its replica.
      { pauseReservationMs: { interactive: 120_000 } },
    );
    const proxies = [await startProxy(scheduler.url), await startProxy(scheduler.url)].map(
      ({ proxy }) => proxy,
    );
    const linked = async (): Promise<boolean> => {
      const ready = await Promise.all(proxies.map(async ({ url }) => (await fetch(`${url}/readyz`)).status));
      return ready.every((status) => status === 200);
    };
    await eventually('both proxies are ready', linked, 30_000);
    const answer = (call: EngineCall): void => {
      setTimeout(() => call.json(200, toolCall), turnMs);
    };
    for (const engine of engines) engine.answer(answer);

    const served: Served[] = [];
    const over = new AbortController();
    const runOne = async (index: number): Promise<void> => {
      const run = `run-${index}`;
      const proxy = proxies[index % proxies.length];
      if (proxy === undefined) throw new Error('no proxy');
      for (let turn = 1; !over.signal.aborted; turn += 1) {
        const reply = await chatSlowly(proxy, run, turn);
        served.push({ run, turn, ...reply });
        await pause(pauseMs);
      }
    };
    const load = Promise.all(Array.from({ length: runs }, (_, index) => runOne(index)));
    await until(() => served.length >= runs * 3, 'every run has had some turns', 30_000);

    await scheduler.kill();
    const killedAt = served.length;
    // Everyone who is between turns comes and waits; those in flight end by themselves.
    await eventually('all runs wait', async () => {
      const gauges = await Promise.all(proxies.map(gaugesOf));
      return gauges.reduce((sum, { held }) => sum + held, 0) === runs;
    });
    // Strangers, each a while after the one before, at either proxy in turn: proxies have no common clock, so
    // between two of them the order is as exact as their messages are fast.
    const arrivals: string[] = [];
    const admitted: unknown[] = [];
    engines[2]?.answer((call) => {
      admitted.push((JSON.parse(call.body.toString('utf8')) as { user?: string }).user);
      answer(call);
    });
    const strangers: Promise<{ status: number }>[] = [];
    for (let index = 0; index < strangerCount; index += 1) {
      const user = `stranger-${index}`;
      const proxy = proxies[index % proxies.length];
      if (proxy === undefined) throw new Error('no proxy');
      arrivals.push(user);
      strangers.push(chatSlowly(proxy, user, 1, { user, model: 'm-solo' }));
      const held = runs + index + 1;
      await eventually(`${held} wait`, async () => {
        const gauges = await Promise.all(proxies.map(gaugesOf));
        return gauges.reduce((sum, each) => sum + each.held, 0) === held;
      });
      await pause(downMs / strangerCount);
    }
    expect(admitted).toEqual([]);
    await scheduler.start();
    await eventually('both proxies are ready again', linked, 30_000);
    for (const reply of await Promise.all(strangers)) expect(reply.status).toBe(200);
    await until(() => served.length >= killedAt + runs * 3, 'every run goes on', 30_000);
    over.abort();
    await load;

    expect(served.filter(({ status }) => status !== 200)).toEqual([]);
    const replicasOf = new Map<string, Set<string>>();
    for (const { run, replica } of served) {
      replicasOf.set(run, (replicasOf.get(run) ?? new Set()).add(replica));
    }
    expect([...replicasOf.values()].filter((replicas) => replicas.size !== 1)).toEqual([]);
    expect(new Set([...replicasOf.values()].flatMap((replicas) => [...replicas]))).toEqual(
      new Set(['e0', 'e1']),
    );
    expect(admitted).toEqual(arrivals);
    await eventually('nothing is held or in flight', async () => {
      const gauges = await Promise.all(proxies.map(gaugesOf));
      return gauges.every(({ active, held }) => active === 0 && held === 0);
    });
  });
});

/** One turn of a run, however long it is held. */
async function chatSlowly(
  proxy: { readonly port: number },
  run: string,
  turn: number,
  more: Record<string, unknown> = {},
): Promise<{ status: number; replica: string }> {
  const headers = { 'x-fermata-run-id': run, 'x-fermata-turn': String(turn) };
  const { status, headers: told } = await chat(proxy, more, headers, 90_000);
  return { status, replica: String(told['x-fermata-replica']) };
}
