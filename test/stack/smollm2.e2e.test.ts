import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import OpenAI from 'openai';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectModern, type ToolClient } from '../../bench/mcp-clients.ts';
import { startStack, type Stack } from '../../cli/embedded-stack.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { copiedCallTask } from '../../testkit/llamacpp/launch.ts';
import { anyPort } from './start-test-stack.ts';

const setupTimeoutMs = 300_000;

describe('the stack on a real engine, SmolLM2 on llama.cpp', () => {
  let stateDir = '';
  let stack: Stack;
  let client: ToolClient;
  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'fermata-smollm2-'));
    stack = await startStack({
      settings: parseSettings({
        ...anyPort,
        FERMATA_STATE_DIR: stateDir,
        FERMATA_TASK_QUEUE: `test-${randomBytes(6).toString('hex')}`,
      }),
      toolsDir: resolve(import.meta.dirname, '..', '..', '.fermata'),
      environment: process.env,
      temporal: { address: inject('temporalAddress'), namespace: 'default' },
      workflowBundle: { codePath: inject('workflowBundlePath') },
      config: null,
      engine: 'smollm2',
      separate: false,
      logger: pino({ level: 'silent' }),
      progress: () => {},
    });
    client = await connectModern(stack.mcpUrl);
  }, setupTimeoutMs);
  afterAll(async () => {
    await client?.close();
    await stack?.close();
    await rm(stateDir, { recursive: true, force: true });
  });

  const runTask = async (args: Record<string, unknown>): Promise<unknown> => {
    const { handle } = await client.call('spawn', args);
    const answer = await client.call('await', { handles: [handle], timeoutSeconds: 100 });
    return (answer['runs'] as unknown[])[0];
  };

  it('completes a spawned run with text from the model', async () => {
    const run = await runTask({
      task: 'Say in one short sentence what a river is.',
      tools: [],
      maxTokens: 48,
    });
    expect(run).toMatchObject({ status: 'Completed', toolCalls: 0, usage: { turns: 1 } });
    expect((run as { result: string }).result).toMatch(/river|water/i);
    expect((run as { usage: { completionTokens: number } }).usage.completionTokens).toBeGreaterThan(3);
  });

  it('runs the tool that the model asks for in its text, and answers after it', async () => {
    const task = copiedCallTask('demo__lookup', { topic: 'Nile' });
    const run = await runTask({ task, tools: ['demo__lookup'], maxToolCalls: 1, maxTokens: 64 });
    expect(run).toMatchObject({ status: 'Completed', toolCalls: 1, failedToolCalls: 0, usage: { turns: 2 } });
  });

  it('streams to an agent with its own loop', async () => {
    const openai = new OpenAI({ baseURL: `${stack.proxyUrl}/v1`, apiKey: 'x', maxRetries: 0 });
    const [model] = (await openai.models.list()).data;
    const stream = await openai.chat.completions.create({
      model: model?.id ?? '',
      messages: [{ role: 'user', content: 'Name three rivers.' }],
      max_tokens: 32,
      stream: true,
    });
    let text = '';
    let chunks = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      chunks += 1;
    }
    expect(chunks).toBeGreaterThan(3);
    expect(text.length).toBeGreaterThan(10);
  });
});
