import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createStdioTransport,
  type StdioTransport,
} from '../../../activities/tool-servers/stdio-transport.ts';
import { caseFile } from '../../case-file.ts';
import { call, failureOf, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const { config: scripted, open, sent, worker, folder, logged } = useScriptedServers();

type Write = { readonly text: string } | { readonly hex: string };

const transports: StdioTransport[] = [];
afterEach(async () => {
  for (const transport of transports.splice(0)) await transport.close();
});

/** A process that makes exactly these writes, one by one, and then answers each line it gets. */
async function startWriter(writes: readonly Write[]) {
  const hex = writes.map((write) => ('hex' in write ? write.hex : Buffer.from(write.text).toString('hex')));
  const program = join(folder(), 'writer.mjs');
  writeFileSync(
    program,
    `const writes = ${JSON.stringify(hex)};
     for (const one of writes) {
       await new Promise((resolve) => process.stdout.write(Buffer.from(one, 'hex'), resolve));
       await new Promise(setImmediate);
     }
     process.stdin.on('data', () => process.stdout.write('\\n{"jsonrpc":"2.0","id":"alive","result":{}}\\n'));`,
  );
  const messages: JSONRPCMessage[] = [];
  const noise: string[] = [];
  const ends: string[] = [];
  const transport = createStdioTransport(
    { command: process.execPath, args: [program], env: {} },
    { onNoise: (line) => noise.push(line), onStderr: () => undefined },
  );
  transports.push(transport);
  Object.assign(transport, {
    onmessage: (message: JSONRPCMessage) => messages.push(message),
    onerror: (error: Error) => ends.push(error.message),
    onclose: () => ends.push('closed'),
  });
  await transport.start();
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await expect.poll(() => messages.some((message) => 'id' in message && message.id === 'alive')).toBe(true);
  return { messages, noise, ends };
}

const m04 = caseFile('M04');
describe(`${m04.id} ${m04.title}`, () => {
  const writes = m04.given['server_stdout_writes'] as readonly Write[];
  const most = m04.expect['noise_lines_logged_max'] as number;

  it('takes the messages, wherever the writes are cut, and keeps the session', async () => {
    const { messages, noise, ends } = await startWriter(writes);
    const ids = messages.map((message) => ('id' in message ? message.id : null));
    expect(ids).toEqual([...(m04.expect['messages_accepted'] as number[]), 'alive']);
    expect(JSON.stringify(messages[1])).toContain(`"${String(m04.expect['text_of_2'])}"`);
    expect(ends).toEqual([]);
    expect(noise).toContain('42');
    expect(noise).toContain('bye');
  });

  it('starts the server once, and logs a bounded part of what it says', async () => {
    const noise = writes
      .flatMap((write) => ('text' in write ? write.text.split('\n') : []))
      .filter((line) => !line.includes('jsonrpc'));
    const banner = Array.from({ length: 60 }, (_unused, index) => noise[index % noise.length] ?? '');
    const onCall = { a: { resultAfterMs: 0 } };
    const registry = open({ s: scripted({ banner, noise, tools: [tool('a')], onCall }) });
    for (let round = 0; round < 5; round += 1) {
      expect((await registry.list(null, noSignal)).tools).toHaveLength(1);
      await registry.call('s', call('a'), noSignal);
    }
    expect(sent('initialize')).toHaveLength(1);
    const lines = worker().filter(({ msg }) => msg === 'tool server output');
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(most);
  });

  it('bounds what it logs of answers that nobody asked for', async () => {
    const noise = Array.from({ length: 20 }, (_u, id) => `{"jsonrpc":"2.0","id":${900 + id},"result":{}}`);
    await open({ s: scripted({ noise, tools: [tool('a')] }) }).list(null, noSignal);
    const errors = worker().filter(({ msg }) => msg === 'tool server error');
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThanOrEqual(most);
  });

  it('drains stderr, so that a server which writes a lot there is not held up', async () => {
    const registry = open({ s: scripted({ stderrBytes: 3_000_000, tools: [tool('a')] }) });
    expect((await registry.list(null, noSignal)).tools).toHaveLength(1);
  });

  it('closes the connection over a message without end, and starts the server anew', async () => {
    const onCall = { flood: { resultAfterMs: 0, resultBytes: 33_000_000 }, a: { resultAfterMs: 0 } };
    const registry = open({ s: scripted({ onCall }) });
    expect(await failureOf(registry.call('s', call('flood'), noSignal))).toMatchObject({
      outcome: 'unknown',
    });
    await registry.call('s', call('a'), noSignal);
    expect(logged().filter(({ started }) => started !== undefined)).toHaveLength(2);
  });
});
