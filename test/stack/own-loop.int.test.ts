import OpenAI from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { configFileSchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema, type RunStatusEntry } from '../../contracts/scheduler-status.ts';
import { createProxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';

const lookup: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'lookup',
    parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
  },
};

describe.each([
  ['streaming', true],
  ['not streaming', false],
])('an agent written with the openai package, %s', (_name, stream) => {
  let engines: SimEngine[] = [];
  let scheduler: Awaited<ReturnType<typeof createScheduler>>;
  let proxy: Awaited<ReturnType<typeof createProxy>>;
  beforeAll(async () => {
    // Short ids: every reply of every conversation calls its first tool call `call_0`, as real engines do.
    engines = await Promise.all(
      [0, 1].map(async () => await startSimEngine({ timeScale: 0.1, callIds: 'short' })),
    );
    const config = configFileSchema.parse({
      pool: engines.map((engine, index) => ({ id: `sim-${index}`, url: engine.url, engine: 'vllm' })),
    });
    const deps = { logger: pino({ level: 'silent' }), environment: {} };
    scheduler = await createScheduler({ ...config, host: '127.0.0.1', port: 0 }, deps);
    proxy = await createProxy({ host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url }, deps);
  });
  afterAll(async () => {
    await proxy.close();
    await scheduler.close();
    await Promise.all(engines.map(async (engine) => await engine.close()));
  });

  const runs = async (): Promise<RunStatusEntry[]> =>
    schedulerStatusSchema.parse(await (await fetch(`${scheduler.url}/status`)).json()).runs;

  /** The scheduler hears of the end of a turn by another connection than the one that asks it. */
  const restingRuns = async (): Promise<RunStatusEntry[]> =>
    await vi.waitFor(
      async () => {
        const seen = await runs();
        expect(seen.filter(({ phase }) => phase === 'generating')).toEqual([]);
        return seen;
      },
      { timeout: 20_000 },
    );

  /** The loop of an agent: as many turns as the model asks for; looks at the scheduler in each pause. */
  async function runAgent(task: string, headers: Record<string, string>) {
    const client = new OpenAI({
      baseURL: `${proxy.url}/v1`,
      apiKey: 'x',
      maxRetries: 0,
      defaultHeaders: headers,
    });
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: task }];
    const pauses: RunStatusEntry[][] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const message = await complete(client, messages);
      messages.push(message);
      const calls = message.tool_calls ?? [];
      if (calls.length === 0) return { messages, pauses };
      pauses.push(await restingRuns());
      for (const call of calls) messages.push({ role: 'tool', tool_call_id: call.id, content: 'a river' });
    }
    throw new Error('the agent did not end');
  }

  async function complete(client: OpenAI, messages: ChatCompletionMessageParam[]) {
    const request = { model: 'sim-small', messages, tools: [lookup] };
    const completion = stream
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request);
    const [choice] = completion.choices;
    if (choice === undefined) throw new Error('a completion without a choice');
    return choice.message;
  }

  it('is one run, paused between its turns, on one replica, with one header set', async () => {
    const task = 'Three rivers. [[sim {"calls":["lookup","lookup","lookup"]}]]';
    const { pauses } = await runAgent(task, { 'x-fermata-run-id': 'rivers-1' });
    expect(pauses).toHaveLength(3);
    for (const [index, seen] of pauses.entries()) {
      const run = seen.find((entry) => entry.run === 'rivers-1');
      expect(run).toMatchObject({ phase: 'paused', turns: index + 1, pauses: index + 1 });
      expect(run?.replicas).toHaveLength(1);
    }
  });

  it('is one run, paused between its turns, on one replica, with no header at all', async () => {
    const known = new Set((await runs()).map(({ run }) => run));
    const task = 'Three other rivers. [[sim {"calls":["lookup","lookup","lookup"]}]]';
    const { pauses } = await runAgent(task, {});
    const mine = pauses.map((seen) => seen.filter(({ run }) => !known.has(run)));
    expect(mine).toHaveLength(3);
    for (const [index, seen] of mine.entries()) {
      expect(seen).toHaveLength(1);
      expect(seen[0]).toMatchObject({ phase: 'paused', turns: index + 1, pauses: index + 1 });
      expect(seen[0]?.run).toBe(mine[0]?.[0]?.run);
      expect(seen[0]?.replicas).toHaveLength(1);
    }
  });

  it('is never taken for another one that runs beside it with the same tool-call ids', async () => {
    const known = new Set((await runs()).map(({ run }) => run));
    await Promise.all(
      ['Danube', 'Elbe', 'Oder', 'Rhine'].map(async (river) => {
        await runAgent(`The ${river}. [[sim {"calls":["lookup","lookup","lookup"]}]]`, {});
      }),
    );
    const mine = (await restingRuns()).filter(({ run }) => !known.has(run));
    expect(mine.map(({ turns, pauses, phase }) => ({ turns, pauses, phase }))).toEqual(
      Array.from({ length: 4 }, () => ({ turns: 4, pauses: 3, phase: 'idle' })),
    );
  });
});
