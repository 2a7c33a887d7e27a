import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..');

async function runMain(
  environment: Record<string, string>,
): Promise<{ code: number | null; errors: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(root, 'activities', 'main.ts')], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString('utf8')));
  const code = await new Promise<number | null>((ended) => child.once('close', ended));
  return { code, errors };
}

describe('the worker process', () => {
  it.each([
    [{ FERMATA_WORKER_PORT: 'abc' }, /^FERMATA_WORKER_PORT: got 'abc', expected a port/],
    [{ FERMATA_CONFIG: '/no/such/file.yaml' }, /^\/no\/such\/file\.yaml: there is no such file/],
  ])('ends with one readable line on a setting that cannot be used: %j', async (environment, line) => {
    const { code, errors } = await runMain(environment);
    expect(code).toBe(1);
    expect(errors).toMatch(line);
    expect(errors.trim().split('\n')).toHaveLength(1);
  });
});
