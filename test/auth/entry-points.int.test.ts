/** Each service as a process of its own, with named tokens. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..');

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

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

it('a service reads its tokens again on SIGHUP, and lives on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-sighup-'));
  folders.push(folder);
  const tokensFile = join(folder, 'tokens.yaml');
  await writeFile(join(folder, 'fermata.yaml'), 'pool: [{id: a, url: "http://127.0.0.1:9"}]');
  await writeFile(tokensFile, '[]', { mode: 0o600 });
  const child = spawn(process.execPath, ['--import', 'tsx', 'scheduler/host/main.ts'], {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      FERMATA_SCHEDULER_PORT: '0',
      FERMATA_CONFIG: join(folder, 'fermata.yaml'),
      FERMATA_TOKEN: 'a-token-of-the-test-0123456789',
      FERMATA_TOKENS_FILE: tokensFile,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolveEnd) => child.once('close', resolveEnd));
  let [out, errors] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString('utf8')));
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString('utf8')));
  const readings = (): number => errors.split('tokens read').length - 1;
  try {
    await vi.waitFor(() => expect(out).toContain('is ready at'), { timeout: 20_000 });
    expect(readings()).toBe(1);
    child.kill('SIGHUP');
    await vi.waitFor(() => expect(readings()).toBe(2), { timeout: 30_000 });
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
  expect(out + errors).not.toContain('a-token-of-the-test');
});
