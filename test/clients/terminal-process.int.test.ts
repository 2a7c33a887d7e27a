import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runInTerminal, type KeyStep } from './terminal-process.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-terminal-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const run = async (shell: string, keys: readonly KeyStep[] = [], timeoutMs = 20_000) =>
  await runInTerminal('/bin/sh', ['-c', shell], keys, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: folder },
    timeoutMs,
    signal: new AbortController().signal,
  });

describe('a program at a terminal', () => {
  it('has one, and gets its keys when its screen says so', async () => {
    const keys = [{ when: (shown: string) => shown.includes('yourname?'), keys: 'Ada\r', afterMs: 0 }];
    const shell =
      'test -t 0 && test -t 1 || exit 3; echo "your name?"; read name; echo "hello $name"; exit 7';
    const ended = await run(shell, keys);
    expect(ended.stdout).toContain('hello Ada');
    expect([ended.code, ended.timedOut]).toEqual([7, false]);
  });

  it('is killed at its bound', async () => {
    const ended = await run('sleep 600', [], 1_000);
    expect(ended.timedOut).toBe(true);
  });

  it('leaves no daemon behind, even in a session of its own', async () => {
    const pidPath = join(folder, 'daemon');
    await run(`setsid sh -c 'echo $$ > ${pidPath}; exec sleep 600' & while ! test -s ${pidPath}; do :; done`);
    const pid = Number(await readFile(pidPath, 'utf8'));
    expect(pid).toBeGreaterThan(0);
    // It is gone, or not yet taken away by whoever inherited it.
    const state = async (): Promise<string> =>
      /^State:\s+(\w)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z'))?.[1] ??
      '';
    await vi.waitFor(async () => expect(['Z', 'X']).toContain(await state()), { timeout: 5_000 });
  });
});
