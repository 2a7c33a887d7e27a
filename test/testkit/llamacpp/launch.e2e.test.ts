import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureLlamaCppPython } from '../../../cli/setup/llamacpp-python.ts';
import { copiedCallTask, startLlamaCpp, type LlamaCpp } from '../../../testkit/llamacpp/launch.ts';

const stateDir = resolve(import.meta.dirname, '../../../.fermata');
const setupTimeoutMs = 300_000;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a real llama.cpp engine', () => {
  let python = '';
  let folder = '';
  let engine: LlamaCpp;
  let client: OpenAI;
  beforeAll(async () => {
    python = await ensureLlamaCppPython(stateDir, () => undefined);
    folder = await mkdtemp(join(tmpdir(), 'llamacpp-'));
    engine = await startLlamaCpp({ python, logPath: join(folder, 'engine.log') });
    client = new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'x', maxRetries: 0 });
  }, setupTimeoutMs);
  afterAll(async () => {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('lists its model under the name it was given', async () => {
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(['smollm2']);
    expect(engine.model).toBe('smollm2');
  });

  it('streams a reply with usage at its end, and finds the prompt in its cache the second time', async () => {
    const ask = async (): Promise<OpenAI.CompletionUsage | undefined> => {
      const stream = await client.chat.completions.create({
        model: engine.model,
        messages: [{ role: 'user', content: 'Name one river.' }],
        max_tokens: 8,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = '';
      let usage: OpenAI.CompletionUsage | undefined;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        usage = chunk.usage ?? usage;
      }
      expect(text).not.toBe('');
      return usage;
    };
    await ask();
    const usage = await ask();
    expect(usage).toMatchObject({ completion_tokens: expect.any(Number) });
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(20);
  });

  it('writes the tool call that it is told to copy, and answers when it has the result', async () => {
    const task = copiedCallTask('demo__lookup', { topic: 'Danube' });
    const first = await client.chat.completions.create({
      model: engine.model,
      messages: [{ role: 'user', content: task }],
      max_tokens: 60,
    });
    expect(JSON.parse(first.choices[0]?.message.content ?? '')).toEqual({
      name: 'demo__lookup',
      arguments: { topic: 'Danube' },
    });
    const call = { name: 'demo__lookup', arguments: '{"topic": "Danube"}' };
    const second = await client.chat.completions.create({
      model: engine.model,
      messages: [
        { role: 'user', content: task },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: call }] },
        { role: 'tool', tool_call_id: 'c1', content: 'Danube: the survey dates two later cases (1901).' },
      ],
      max_tokens: 40,
    });
    expect(second.choices[0]?.message.content).not.toBe('');
  });

  it('honours a JSON schema as the format of its reply', async () => {
    const schema = {
      type: 'object',
      properties: { river: { enum: ['Elbe', 'Oder'] } },
      required: ['river'],
      additionalProperties: false,
    };
    const reply = await client.chat.completions.create({
      model: engine.model,
      messages: [{ role: 'user', content: 'Name a river.' }],
      max_tokens: 40,
      response_format: { type: 'json_schema', json_schema: { name: 'river', schema } },
    });
    const value = JSON.parse(reply.choices[0]?.message.content ?? '') as { river: string };
    expect(['Elbe', 'Oder']).toContain(value.river);
  });

  it('tells load and memory under the names that the scheduler reads', async () => {
    const metrics = await (await fetch(`${engine.url}/metrics`)).text();
    expect(metrics).toMatch(/^llamacpp:requests_processing \d/m);
    expect(metrics).toMatch(/^llamacpp:requests_deferred \d/m);
    const slots = (await (await fetch(`${engine.url}/slots`)).json()) as { n_ctx: number }[];
    expect(slots.map((slot) => slot.n_ctx)).toEqual([2_048, 2_048, 2_048, 2_048]);
    expect(await (await fetch(`${engine.url}/props`)).json()).toMatchObject({ total_slots: 4 });
  });

  it('keeps its own log', async () => {
    expect(await readFile(join(folder, 'engine.log'), 'utf8')).toContain('model loaded');
  });

  it('is gone for good after close', async () => {
    const other = await startLlamaCpp({ python, contextTokens: 512, slots: 1 });
    expect(isAlive(other.pid)).toBe(true);
    await other.close();
    expect(isAlive(other.pid)).toBe(false);
  });

  it('dies with the process that started it, even when that is killed', async () => {
    const main = join(import.meta.dirname, 'launch-main.ts');
    const parent = spawn(process.execPath, ['--import', 'tsx', main, python], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString('utf8'));
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await vi.waitFor(
      () => {
        expect(isAlive(pid)).toBe(false);
      },
      { timeout: 10_000 },
    );
  });

  it('that cannot start says why', async () => {
    await expect(startLlamaCpp({ python: '/nonexistent/python' })).rejects.toThrow('ENOENT');
    await expect(startLlamaCpp({ python: process.execPath })).rejects.toThrow(
      /did not start: exited with code/,
    );
  });
});
