/**
 * Agents with loops of their own over every API that calls tools, against simulated engines that use the same
 * short call ids in every reply: proxy, scheduler and engines as they are, nothing scripted between them.
 */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { configFileSchema } from '../../../contracts/config-file.ts';
import { schedulerStatusSchema, type RunStatusEntry } from '../../../contracts/scheduler-status.ts';
import { createProxy, type Proxy } from '../../../proxy/create-proxy.ts';
import { createScheduler, type Scheduler } from '../../../scheduler/host/create-scheduler.ts';
import { startSimEngine, type SimEngine } from '../../../testkit/sim-engine/host.ts';
import {
  generativeApis,
  toolApis,
  type GenerativeApi,
  type Json,
} from '../../testkit/sim-engine/generative-apis.ts';

const logger = pino({ level: 'silent' });
const threeCalls = '[[sim {"calls":["lookup","lookup","lookup"]}]]';

let engines: SimEngine[] = [];
let scheduler: Scheduler;
let proxy: Proxy;
beforeAll(async () => {
  engines = await Promise.all(
    [0, 1].map(async () => await startSimEngine({ timeScale: 0.05, callIds: 'short' })),
  );
  const config = configFileSchema.parse({
    pool: engines.map(({ url }, index) => ({ id: `sim-${index}`, url, engine: 'vllm' })),
  });
  const deps = { logger, environment: {} };
  scheduler = await createScheduler({ ...config, host: '127.0.0.1', port: 0 }, deps);
  proxy = await createProxy(
    { host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url, redisUrl: null },
    deps,
  );
});
afterAll(async () => {
  await proxy.close();
  await scheduler.close();
  await Promise.all(engines.map(async (engine) => await engine.close()));
});

const runs = async (): Promise<RunStatusEntry[]> =>
  schedulerStatusSchema.parse(await (await fetch(`${scheduler.url}/status`)).json()).runs;

interface Answer {
  readonly run: string;
  readonly replica: string;
  readonly text: string;
}

async function send(api: GenerativeApi, body: Json): Promise<Answer> {
  const response = await fetch(`${proxy.url}${api.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${api.path}: ${response.status} ${text}`);
  const header = (name: string): string => response.headers.get(`x-fermata-${name}`) ?? '';
  return { run: header('run-id'), replica: header('replica'), text };
}

/** As many turns as the model asks for, without a header that names the run. */
async function runAgent(api: GenerativeApi, task: string): Promise<Answer[]> {
  let body = api.withTool(api.ask(`${task} ${threeCalls}`));
  const answers: Answer[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    const answer = await send(api, body);
    answers.push(answer);
    const reply: unknown = JSON.parse(answer.text);
    if (api.facts(reply).calls.length === 0) return answers;
    body = api.next(body, reply, 'a river');
  }
  throw new Error('the agent did not end');
}

describe.each(toolApis)('an agent over $name', (api) => {
  it('is one run with its pauses, on one replica, though it names none', async () => {
    const answers = await runAgent(api, 'Three rivers.');
    expect(answers).toHaveLength(4);
    expect(new Set(answers.map(({ run }) => run)).size).toBe(1);
    expect(new Set(answers.map(({ replica }) => replica)).size).toBe(1);
    await vi.waitFor(
      async () => {
        const mine = (await runs()).find(({ run }) => run === answers[0]?.run);
        expect(mine).toMatchObject({ turns: 4, pauses: 3, phase: 'idle' });
      },
      { timeout: 20_000 },
    );
  });

  it('is never taken for another that runs beside it', async () => {
    const agents = await Promise.all(
      ['Danube', 'Elbe', 'Oder', 'Rhine'].map(async (river) => await runAgent(api, `The ${river}.`)),
    );
    const named = agents.map((answers) => new Set(answers.map(({ run }) => run)));
    expect(named.map(({ size }) => size)).toEqual([1, 1, 1, 1]);
    expect(new Set(named.flatMap((one) => [...one])).size).toBe(4);
  });

  it('pauses also when its replies are streamed', async () => {
    const { run } = await send(api, api.withTool(api.ask(`Streamed. ${threeCalls}`, { stream: true })));
    // The scheduler hears of the end by another connection than the one that asks it.
    await vi.waitFor(
      async () => {
        const mine = (await runs()).find((entry) => entry.run === run);
        expect(mine).toMatchObject({ turns: 1, pauses: 1, phase: 'paused' });
      },
      { timeout: 20_000 },
    );
  });
});

describe.each(generativeApis)('what a turn over $name cost', (api) => {
  it.each([false, true])('is known to the run as the engine reported it, streamed: %s', async (stream) => {
    const text = `What does it cost? ${api.name} ${String(stream)}`;
    const plain = api.facts(JSON.parse((await send(api, api.ask(text))).text));
    const { run } = await send(api, api.ask(text, { stream }));
    const report = (await (await fetch(`${proxy.url}/v1/runs/${run}`)).json()) as { tokens: Json };
    expect(report.tokens).toMatchObject({ prompt: plain.promptTokens, completion: plain.outputTokens });
  });
});

describe('agents over responses that the engine stores', () => {
  it('are one run each, on the replica that stores them', async () => {
    const [, , responses] = generativeApis;
    if (responses === undefined) throw new Error('no API of responses');
    const agents = await Promise.all(
      [0, 1, 2, 3].map(async (agent) => {
        const first = await send(responses, responses.ask(`Begin ${agent}.`));
        let { id } = JSON.parse(first.text) as { id: string };
        const answers = [first];
        for (const step of [1, 2]) {
          const next = await send(responses, {
            model: 'sim-small',
            input: `Go on, ${step}.`,
            previous_response_id: id,
          });
          answers.push(next);
          ({ id } = JSON.parse(next.text) as { id: string });
        }
        return answers;
      }),
    );
    for (const answers of agents) {
      expect(new Set(answers.map(({ run, replica }) => `${run} ${replica}`)).size).toBe(1);
    }
    expect(new Set(agents.flatMap((answers) => answers.map(({ replica }) => replica))).size).toBe(2);
    expect(new Set(agents.map(([first]) => first?.run)).size).toBe(4);
  });
});

describe('a count of tokens', () => {
  it('comes from a real tokenizer of the pool', async () => {
    const messages = generativeApis.find(({ name }) => name === 'messages');
    if (messages === undefined) throw new Error('no API of messages');
    const body = messages.ask('How many tokens is this?');
    const counted = await send({ ...messages, path: '/v1/messages/count_tokens' }, body);
    const { promptTokens } = messages.facts(JSON.parse((await send(messages, body)).text));
    expect(JSON.parse(counted.text)).toEqual({ input_tokens: promptTokens });
  });
});
