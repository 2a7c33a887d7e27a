/** The proxy as a process of its own: what it has logged when it is told to stop. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { chatPath, closeAfterTest, until } from './stack.ts';

const root = resolve(import.meta.dirname, '..', '..');

it('a proxy that is told to stop loses no line of its log', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', resolve(root, 'proxy/main.ts')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'] ?? '',
      FERMATA_PROXY_PORT: '0',
      // Nobody listens there: what is asked here needs no scheduler.
      FERMATA_SCHEDULER_URL: 'http://127.0.0.1:9',
    },
  });
  const exited = once(child, 'exit');
  closeAfterTest(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString('utf8')));
  const closed = once(child.stdout, 'close');
  await until(() => /ready at \S+\n/.test(output), 'the proxy is ready', 25_000);
  const url = /ready at (\S+)\n/.exec(output)?.[1] ?? '';
  const ask = async (): Promise<number> =>
    (await fetch(url + chatPath, { method: 'POST', body: 'no JSON' })).status;
  for (let round = 0; round < 20; round++) {
    expect(await Promise.all(Array.from({ length: 10 }, ask))).toEqual(Array.from({ length: 10 }, () => 400));
  }
  child.kill('SIGTERM');
  const [code] = (await exited) as [number | null];
  await closed;
  expect(code).toBe(0);
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter((line) => line['msg'] === 'turn' && line['status'] === 400)).toHaveLength(200);
});
