/**
 * A real llama.cpp engine behind proxy and scheduler, over every API that it serves: completions, responses,
 * messages and counts of tokens. What it writes is not ours; that we read it rightly is what is tested.
 */
import { resolve } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureLlamaCppPython } from '../../../cli/setup/llamacpp-python.ts';
import { configFileSchema } from '../../../contracts/config-file.ts';
import { createProxy, type Proxy } from '../../../proxy/create-proxy.ts';
import { createScheduler, type Scheduler } from '../../../scheduler/host/create-scheduler.ts';
import { startLlamaCpp, type LlamaCpp } from '../../../testkit/llamacpp/launch.ts';
import type { Json } from '../reply/read-reply.ts';

const stateDir = resolve(import.meta.dirname, '../../../.fermata');
const setupTimeoutMs = 300_000;
const maxTokens = 12;
const log: Json[] = [];

let engine: LlamaCpp;
let scheduler: Scheduler;
let proxy: Proxy;
beforeAll(async () => {
  const python = await ensureLlamaCppPython(stateDir, () => undefined);
  engine = await startLlamaCpp({ python, slots: 2, contextTokens: 4_096 });
  const { pool, policy, callers } = configFileSchema.parse({
    pool: [{ id: 'real', url: engine.url, engine: 'llamacpp' }],
  });
  scheduler = await createScheduler(
    { host: '127.0.0.1', port: 0, pool, policy, callers, probeIntervalMs: 200 },
    { logger: pino({ level: 'silent' }), environment: {} },
  );
  const write = (line: string): void => void log.push(JSON.parse(line) as Json);
  proxy = await createProxy(
    { host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url, redisUrl: null },
    { logger: pino({ level: 'info' }, { write }), environment: {} },
  );
}, setupTimeoutMs);
afterAll(async () => {
  await proxy?.close();
  await scheduler?.close();
  await engine?.close();
});

interface Answer {
  readonly run: string | null;
  readonly text: string;
  /** Its line of the access log. */
  readonly line: Json;
}

async function send(path: string, body: Json): Promise<Answer> {
  const before = log.length;
  const response = await fetch(`${proxy.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: engine.model, ...body }),
  });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  await vi.waitFor(() => {
    expect(log.length).toBeGreaterThan(before);
  });
  return { run: response.headers.get('x-fermata-run-id'), text, line: log.at(-1) ?? {} };
}

/** The events of a stream: their data, but for the mark of its end. */
function eventsOf(text: string): Json[] {
  return text
    .split('\n\n')
    .flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice('data: '.length))
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Json);
}

const question = (n: number): string => `Say in one short sentence what river number ${n} is.`;

describe('a real llama.cpp engine', () => {
  it('completes a prompt, streamed as well, and its usage is known', async () => {
    const ask = { prompt: 'The longest river in Africa is the', max_tokens: maxTokens };
    const whole = await send('/v1/completions', ask);
    const { usage, choices } = JSON.parse(whole.text) as { usage: Json; choices: { text: string }[] };
    expect(whole.line).toMatchObject({
      api: 'completions',
      outcome: 'done',
      tokensIn: usage['prompt_tokens'],
      tokensOut: usage['completion_tokens'],
    });
    const streamed = await send('/v1/completions', { ...ask, stream: true });
    const pieces = eventsOf(streamed.text) as { choices: { text: string }[] }[];
    expect(pieces.map((event) => event.choices[0]?.text ?? '').join('')).toBe(choices[0]?.text);
    expect(streamed.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(streamed.line).toMatchObject({
      outcome: 'done',
      tokensIn: usage['prompt_tokens'],
      tokensOut: usage['completion_tokens'],
    });
    expect(streamed.line['cached']).toBeGreaterThan(0);
  });

  it('responds, and what it says goes on as one run whose context it had cached', async () => {
    const input: Json[] = [{ role: 'user', content: question(1) }];
    const first = await send('/v1/responses', { input, max_output_tokens: maxTokens });
    const reply = JSON.parse(first.text) as { output: Json[]; usage: Json };
    expect(first.line).toMatchObject({
      api: 'responses',
      outcome: 'done',
      tokensIn: reply.usage['input_tokens'],
      tokensOut: reply.usage['output_tokens'],
    });
    const next = [...input, ...reply.output, { role: 'user', content: question(2) }];
    const second = await send('/v1/responses', { input: next, max_output_tokens: maxTokens, stream: true });
    expect(second.run).toBe(first.run);
    expect(eventsOf(second.text).at(-1)).toMatchObject({ type: 'response.completed' });
    expect(second.line).toMatchObject({ runBy: 'conversation', outcome: 'done' });
    expect(second.line['tokensIn']).toBeGreaterThan(Number(first.line['tokensIn']));
    expect(second.line['cached']).toBeGreaterThan(20);
  });

  it('answers messages, and what it says goes on as one run whose context it had cached', async () => {
    const messages: Json[] = [{ role: 'user', content: question(3) }];
    const system = 'You are a river guide. Be brief.';
    const first = await send('/v1/messages', { system, messages, max_tokens: maxTokens });
    const reply = JSON.parse(first.text) as { content: Json[]; usage: Record<string, number> };
    const prompt = (reply.usage['input_tokens'] ?? 0) + (reply.usage['cache_read_input_tokens'] ?? 0);
    expect(first.line).toMatchObject({
      api: 'messages',
      outcome: 'done',
      tokensIn: prompt,
      tokensOut: reply.usage['output_tokens'],
    });
    const next = [
      ...messages,
      { role: 'assistant', content: reply.content },
      { role: 'user', content: question(4) },
    ];
    const second = await send('/v1/messages', {
      system,
      messages: next,
      max_tokens: maxTokens,
      stream: true,
    });
    expect(second.run).toBe(first.run);
    expect(eventsOf(second.text).at(-1)).toMatchObject({ type: 'message_stop' });
    expect(second.line).toMatchObject({ runBy: 'conversation', outcome: 'done' });
    expect(second.line['tokensOut']).toBeGreaterThan(2);
    expect(second.line['tokensIn']).toBeGreaterThan(prompt);
    expect(second.line['cached']).toBeGreaterThan(20);
    expect(second.line['cached']).toBeLessThan(Number(second.line['tokensIn']));
  });

  it('counts the tokens of messages as it then reads them', async () => {
    const messages = [{ role: 'user', content: question(5) }];
    const counted = await send('/v1/messages/count_tokens', { messages });
    const { line } = await send('/v1/messages', { messages, max_tokens: 1 });
    expect(JSON.parse(counted.text)).toEqual({ input_tokens: line['tokensIn'] });
    expect(counted.line).toMatchObject({ api: 'count_tokens', status: 200, replica: 'real' });
  });

  it('has its usage kept from a chat that did not ask for it', async () => {
    const messages = [{ role: 'user', content: question(6) }];
    const { text, line } = await send('/v1/chat/completions', {
      messages,
      max_tokens: maxTokens,
      stream: true,
    });
    expect(text).not.toContain('"usage"');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(line).toMatchObject({ api: 'chat', outcome: 'done' });
    expect(line['tokensOut']).toBeGreaterThan(2);
  });

  it('has its own refusals passed on as they are', async () => {
    const response = await fetch(`${proxy.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: engine.model, input: 'x', previous_response_id: 'resp_1' }),
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('previous_response_id');
  });
});
