/**
 * Real proxy and real scheduler before scripted engines, with what the failure table asks after each row:
 * that nothing is left of the turn, and that its retry finds its replica and its place.
 */
import { request as httpRequest } from 'node:http';
import { z } from 'zod';
import type { Policy } from '../../contracts/config-file.ts';
import { schedulerStatusSchema, type SchedulerStatus } from '../../contracts/scheduler-status.ts';
import type { Proxy } from '../../proxy/create-proxy.ts';
import type { ProxyLimits } from '../../proxy/limits.ts';
import type { Door } from './doors.ts';
import { startRealScheduler, type RealScheduler } from './real-scheduler.ts';
import { startScriptedEngine, type EngineCall, type ScriptedEngine } from './scripted-engine.ts';
import { chat, chatBody, chatPath, closeAfterTest, post, startProxy, type TestClient } from './stack.ts';

export interface RealStack {
  readonly proxy: Proxy;
  readonly scheduler: RealScheduler;
  readonly engines: ScriptedEngine[];
  readonly log: readonly Record<string, unknown>[];
}

export const replicaIds = ['e0', 'e1'] as const;

/** Two engines of one place each, unless it says otherwise; resolves once both are known to be healthy. */
export async function startRealStack(
  options: {
    places?: number;
    engines?: number;
    policy?: Partial<Policy>;
    probeIntervalMs?: number;
    limits?: Partial<ProxyLimits>;
    /** Proxy and scheduler are linked inside the process. */
    linkedLocally?: boolean;
  } = {},
): Promise<RealStack> {
  const engines: ScriptedEngine[] = [];
  for (let index = 0; index < (options.engines ?? 2); index += 1) engines.push(await startScriptedEngine());
  closeAfterTest(async () => {
    for (const engine of engines) await engine.close();
  });
  const scheduler = await startRealScheduler(
    engines.map((engine, index) => ({
      id: `e${index}` as never,
      url: engine.url,
      models: ['m-test'],
      apis: ['chat', 'completions', 'responses', 'messages'],
      maxConcurrent: options.places ?? 1,
    })),
    {},
    {
      ...(options.policy === undefined ? {} : { policy: options.policy }),
      ...(options.probeIntervalMs === undefined ? {} : { probeIntervalMs: options.probeIntervalMs }),
    },
  );
  const { proxy, log } = await startProxy(scheduler.url, {
    limits: { queueFullDelayMs: 1, ...options.limits },
    ...(options.linkedLocally === true ? { openLink: scheduler.openLink } : {}),
  });
  const stack: RealStack = { proxy, scheduler, engines, log };
  await eventually('the pool is healthy', async () => (await ask(`${proxy.url}/readyz`)).status === 200);
  await eventually('both engines are healthy', async () =>
    (await statusOf(stack)).replicas.every(({ healthy }) => healthy === true),
  );
  return stack;
}

/** Polls until it holds. @throws Error that names it. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  limitMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}

/** Asks without keeping the connection, so that no socket of the test is left. */
export async function ask(url: string): Promise<{ status: number; text: string }> {
  return await new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    request.end();
  });
}

export async function statusOf({ scheduler }: Pick<RealStack, 'scheduler'>): Promise<SchedulerStatus> {
  return schedulerStatusSchema.parse(JSON.parse((await ask(`${scheduler.url}/status`)).text));
}

const gauge = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);

/** Turns that the proxy counts. */
export async function gaugesOf(proxy: { readonly url: string }): Promise<{ active: number; held: number }> {
  const { text } = await ask(`${proxy.url}/metrics`);
  return { active: gauge(text, 'fermata_proxy_active'), held: gauge(text, 'fermata_proxy_held') };
}

/** No place, no held turn, neither at the scheduler nor in the proxy. */
export async function nothingLeft(stack: RealStack, limitMs = 5_000): Promise<void> {
  let seen: unknown = null;
  await eventually(
    'nothing is left',
    async () => {
      const { replicas, held } = await statusOf(stack);
      const gauges = await gaugesOf(stack.proxy);
      seen = { inFlight: replicas.map(({ inFlight }) => inFlight), held, gauges };
      return (
        held.length === 0 &&
        replicas.every(({ inFlight }) => inFlight === 0) &&
        gauges.active === 0 &&
        gauges.held === 0
      );
    },
    limitMs,
  ).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}: ${JSON.stringify(seen)}`);
  });
}

const runReportSchema = z.looseObject({ phase: z.string() });

/** The phase of a run, as the proxy and as the scheduler have it; null: unknown there. */
export async function phasesOf(stack: RealStack, run: string): Promise<(string | null)[]> {
  const { status, text } = await ask(`${stack.proxy.url}/v1/runs/${run}`);
  const own = status === 200 ? runReportSchema.parse(JSON.parse(text)).phase : null;
  const entry = (await statusOf(stack)).runs.find((each) => each.run === run);
  return [own, entry?.phase ?? null];
}

/** Takes both places with turns of other runs; resolves with the engine's side of each, by replica. */
export async function takeAllPlaces(stack: RealStack): Promise<EngineCall[]> {
  const calls = stack.engines.map((engine) => engine.next());
  for (const [index] of stack.engines.entries()) {
    post(stack.proxy, chatPath, chatBody({ user: `blocker ${index}` }));
  }
  return await Promise.all(calls);
}

export const answer = { choices: [{ finish_reason: 'stop', message: { content: 'ok' } }] };
const toolCall = {
  choices: [
    {
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
    },
  ],
};

/** Serves the first turn of a run, which ends in a tool call; resolves with the index of its replica. */
export async function pauseRun(stack: RealStack, run: string): Promise<number> {
  const calls = stack.engines.map(async (engine, index) => ({ call: await engine.next(), index }));
  const reply = chat(stack.proxy, {}, { 'x-fermata-run-id': run, 'x-fermata-turn': '1' });
  const { call, index } = await Promise.race(calls);
  call.json(200, toolCall);
  await reply;
  // The other engines still owe their next call to the waits above.
  for (const [other, engine] of stack.engines.entries()) if (other !== index) engine.forgetWaits();
  await eventually('the run is paused', async () => (await phasesOf(stack, run))[1] === 'paused');
  return index;
}

/** Sends the second turn of a run through an endpoint. */
export function secondTurn(stack: RealStack, door: Door, run: string): TestClient {
  return post(stack.proxy, door.path, door.body, { 'x-fermata-run-id': run, 'x-fermata-turn': '2' });
}

/** Answers a call as its endpoint does, whole. */
export function finishCall(call: EngineCall, door: Door): void {
  call.head(200, { 'content-type': door.contentType });
  call.write(door.first + door.rest);
  call.end();
}
