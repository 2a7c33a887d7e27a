/** Each service as a process of its own, with named tokens but without the one it speaks to others with. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..');

async function run(args: readonly string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', FERMATA_TOKENS_FILE: '/no/such/tokens.yaml' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString('utf8')));
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString('utf8')));
  const code = await new Promise<number | null>((ended) => child.once('close', ended));
  return { code, out, errors };
}

it.each([
  [['scheduler/host/main.ts']],
  [['proxy/main.ts']],
  [['activities/main.ts']],
  [['mcp-server/main.ts']],
  [['cli/main.ts', 'mcp']],
])('%j does not start and says in one line to set FERMATA_TOKEN too', async (args) => {
  const { code, out, errors } = await run(args);
  expect([code, out]).toEqual([1, '']);
  expect(errors).toMatch(/FERMATA_TOKENS_FILE: is set without FERMATA_TOKEN.*; set FERMATA_TOKEN too/);
  expect(errors.trim().split('\n')).toHaveLength(1);
});
