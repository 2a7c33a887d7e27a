/** Promise: whoever calls a tool wrongly hears how to call it, in a short tool error, in both eras. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { connectClient, type TestClient } from './mcp-clients.ts';
import { rawRequest } from './raw-client.ts';
import { startServerAlone } from './server-alone.ts';

let server: McpServerHandle;
beforeAll(async () => {
  server = await startServerAlone();
});
afterAll(async () => {
  await server.close();
});

describe.each(['modern', 'legacy', 'sdk'] as const)('a %s client', (kind) => {
  let client: TestClient;
  beforeAll(async () => {
    client = await connectClient(kind, `${server.url}/mcp`);
  });
  afterAll(async () => {
    await client.close();
  });

  it.each([
    [
      'spawn',
      { prompt: 'x' },
      "task is missing; no argument is called 'prompt'. It takes: task (required), ",
    ],
    ['spawn', { task: ' ' }, 'task: says nothing'],
    [
      'await',
      { handle: 'x' },
      "handles is missing; no argument is called 'handle'. It takes: handles (required)",
    ],
    ['status', { handle: ' ' }, 'unknown handle'],
    ['status', { handle: 'x'.repeat(1_000_000) }, 'unknown handle'],
    ['tools', { server: 'x' }, "no argument is called 'server'. It takes no arguments"],
    ['approve', { handle: 'x', allow: 1 }, 'allow: Invalid input: expected boolean'],
  ])('that calls %s wrongly hears how to call it: %o', { timeout: 30_000 }, async (tool, args, words) => {
    const { isError, text, structured } = await client.call(tool, args);
    expect(isError).toBe(true);
    expect(text).toContain(words);
    expect(text.length).toBeLessThan(4_000);
    expect(structured).toEqual({});
  });

  it('that sends very many unknown arguments gets a short answer', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => ['k'.repeat(300) + index, 1]),
    );
    const { isError, text } = await client.call('spawn', { task: 'x', ...many });
    expect(isError).toBe(true);
    expect(text.length).toBeLessThan(4_000);
  });
});

it('a tool that is not there is an error of the protocol, as the protocol says', async () => {
  const { error } = await rawRequest(`${server.url}/mcp`, 'tools/call', { name: 'spwan', arguments: {} });
  expect(error).toMatchObject({ code: -32_602, message: 'Tool spwan not found' });
});
