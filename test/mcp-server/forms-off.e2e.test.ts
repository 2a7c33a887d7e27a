/**
 * Promise: whoever knows that nobody looks at the forms of a client can switch them off, and decides with
 * `approve` instead. Claude Code and Codex answer forms with a no, by themselves, where no person is.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { stdioCommand } from './client-kinds.ts';
import { deleting, deletionsOf } from './deleting-runs.ts';
import { connectAsking, connectStdio, type AnswerForm, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let server: McpServerHandle;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  server = await stack.startServer({ approvalLooks: { everyMs: 100 } });
});
afterAll(async () => {
  await stack.close();
});

type Connect = (answer: AnswerForm) => Promise<TestClient>;

const overHttp =
  (kind: 'modern' | 'legacy' | 'sdk'): Connect =>
  async (answer) =>
    await connectAsking(kind, `${server.url}/mcp`, { answer, headers: { 'x-fermata-forms': 'off' } });

const overStdio: Connect = async (answer) => {
  const command = stdioCommand(stack);
  return await connectStdio({ ...command, args: [...command.args, 'off'] }, { answer });
};

const ways: readonly [string, Connect][] = [
  ['SDK 1 over HTTP', overHttp('sdk')],
  ['SDK 1 over stdio', overStdio],
  ['SDK 2 modern', overHttp('modern')],
  ['SDK 2 legacy', overHttp('legacy')],
];

describe.each(ways)('%s, with forms switched off', (_way, connect) => {
  it('is shown none, is told what waits, and decides it with approve', async () => {
    const page = randomUUID();
    let forms = 0;
    const client = await connect(async () => {
      forms += 1;
      return await Promise.resolve({ action: 'cancel' });
    });
    try {
      const { structured: spawned } = await client.call('spawn', { task: deleting(page) });
      const handle = String(spawned['handle']);
      const { structured: waiting } = await client.call('await', { handles: [handle] });
      expect(waiting).toMatchObject({ done: false, runs: [{ handle, status: 'AwaitingApproval' }] });
      await client.call('approve', { handle, allow: true });
      const { structured: ended } = await client.call('await', { handles: [handle] });
      expect(ended).toMatchObject({ done: true, runs: [{ status: 'Completed', failedToolCalls: 0 }] });
      expect(forms).toBe(0);
      expect(deletionsOf(stack, page)).toBe(1);
    } finally {
      await client.close();
    }
  });
});
