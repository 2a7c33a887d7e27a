import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ToolServerConfig } from '../../contracts/config-file.ts';
import { transcriptQuery } from '../../contracts/run.ts';
import { startRunStack, type RunStack } from './run-stack.ts';

const folder = mkdtempSync(join(tmpdir(), 'fermata-calls-'));
const log = join(folder, 'log');
let stack: RunStack;

function scripted(): ToolServerConfig {
  const tool = (name: string, annotations: object) => ({
    name,
    inputSchema: { type: 'object' },
    annotations,
  });
  const script = {
    log,
    tools: [
      tool('read', { readOnlyHint: true }),
      tool('charge', {}),
      tool('big', { readOnlyHint: true }),
      tool('refuse', { readOnlyHint: true }),
    ],
    onCall: {
      read: { exit: true },
      charge: { exit: true },
      big: { resultAfterMs: 0, resultBytes: 3_000_000 },
      refuse: { error: { code: -32602, message: 'not today' } },
    },
  };
  const main = resolve(import.meta.dirname, '../activities/tool-servers/scripted-server.mjs');
  return {
    command: process.execPath,
    args: [main, JSON.stringify(script)],
    env: {},
    idleTimeoutMs: 60_000,
    totalTimeoutMs: 600_000,
  };
}

beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => request.say('no script'),
    toolServers: { s: scripted() },
  });
});
afterAll(async () => {
  await stack?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs one reply with calls of these tools, and gives the tool results and how often each tool was asked. */
async function callOnce(...names: string[]): Promise<{ results: string[]; asked: (name: string) => number }> {
  const before = stack.model.requests.length;
  stack.model.script((request, index) => {
    if (index > before) request.say('done');
    else request.call(names.map((name) => ({ name: `s__${name}`, arguments: {} })));
  });
  const handle = await stack.start({ task: 'call', parallelToolCalls: true });
  expect(await handle.result()).toMatchObject({ text: 'done' });
  const transcript = await handle.query<{ role: string; content: string }[]>(transcriptQuery);
  const lines = readFileSync(log, 'utf8').split('\n');
  return {
    results: transcript.filter((message) => message.role === 'tool').map((message) => message.content),
    asked: (name) =>
      lines.filter((line) => line.includes('"tools/call"') && line.includes(`"name":"${name}"`)).length,
  };
}

describe('a call whose server dies under it', () => {
  it('is tried three times when the tool only reads, under one idempotency key, then told to the model', async () => {
    const { results, asked } = await callOnce('read');
    expect(asked('read')).toBe(3);
    expect(results).toEqual([expect.stringMatching(/^Error: /)]);
    const keys = readFileSync(log, 'utf8').match(/"fermata\/idempotencyKey":"[^"]+"/g) ?? [];
    expect(new Set(keys).size).toBe(1);
  });

  it('is tried once when it may have taken effect, and the model hears that the outcome is unknown', async () => {
    const { results, asked } = await callOnce('charge');
    expect(asked('charge')).toBe(1);
    expect(results).toEqual([expect.stringMatching(/^Error: the outcome of this call is unknown/)]);
  });
});

describe('a call that the server refuses', () => {
  it('is not repeated, and its words go to the model', async () => {
    const { results, asked } = await callOnce('refuse');
    expect(asked('refuse')).toBe(1);
    expect(results).toEqual(['Error: not today']);
  });
});

describe('results of megabytes (D01)', () => {
  it('are cut for the model, side by side too, and say how much there was', async () => {
    const { results } = await callOnce('big', 'big');
    expect(results).toHaveLength(2);
    for (const result of results) {
      expect(result.length).toBeLessThan(50_200);
      expect(result).toContain('of 3000000 bytes of this result were cut here');
    }
  });
});
