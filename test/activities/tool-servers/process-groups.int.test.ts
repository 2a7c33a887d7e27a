import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ToolServerConfig, ToolServers } from '../../../contracts/config-file.ts';
import { caseFile } from '../../case-file.ts';
import { call, failureOf, isAlive, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const { config: scripted, open, pids, logged } = useScriptedServers();

/** The shell of a package runner, with the server as its child; a shell gives a child in the background no stdin by itself. */
function throughRunner(config: ToolServerConfig): ToolServerConfig {
  if (!('command' in config)) throw new Error('no process');
  return {
    ...config,
    command: 'sh',
    args: ['-c', 'exec 3<&0; "$@" <&3 3<&- & wait', 'sh', config.command, ...config.args],
  };
}

/** Watchdogs that this process started and that run. */
function watchdogs(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const isOurs = readFileSync(`/proc/${pid}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`);
        return isOurs && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('while read -r sign group');
      } catch {
        return false;
      }
    });
}

const m12 = caseFile('M12');
describe(`${m12.id} ${m12.title}`, () => {
  const { processes_left_after_s: left, our_stdio_server_exits_on_stdin_end_within_s: ownExitS } =
    m12.expect as {
      processes_left_after_s: Readonly<Record<string, number>>;
      our_stdio_server_exits_on_stdin_end_within_s: number;
    };
  const [[limitS, count] = ['', -1]] = Object.entries(left);
  const stubborn = { tools: [tool('a')], ignoreTerm: true, grandchild: true };
  const gone = async (): Promise<void> => {
    await expect.poll(() => pids().filter(isAlive).length, { timeout: Number(limitS) * 1_000 }).toBe(count);
  };

  it('session closed: nothing is left of the runner, the server and what that started', async () => {
    const registry = open({ s: throughRunner(scripted({ ...stubborn, ignoreStdinEnd: true })) });
    await registry.list(null, noSignal);
    expect(pids()).toHaveLength(2);
    expect(pids().every(isAlive)).toBe(true);
    await registry.close();
    await gone();
  });

  it.each([
    ['that notices the end of its stdin', stubborn],
    ['that notices nothing', { ...stubborn, ignoreStdinEnd: true }],
  ])('worker SIGKILLed: nothing is left of a server %s', async (_what, script) => {
    const worker = startWorker({ s: throughRunner(scripted(script)) });
    try {
      expect(await firstLine(worker)).toContain('"tools":1');
      expect(pids()).toHaveLength(2);
      worker.kill('SIGKILL');
      await once(worker, 'exit');
      await gone();
    } finally {
      worker.kill('SIGKILL');
    }
  });

  it('20 sessions opened and closed: nothing is left', async () => {
    for (let session = 0; session < 20; session += 1) {
      const registry = open({ s: throughRunner(scripted({ tools: [tool('a')] })) });
      await registry.list(null, noSignal);
      await registry.close();
    }
    expect(pids()).toHaveLength(20);
    await gone();
    await expect.poll(() => watchdogs(process.pid)).toEqual([]);
  });

  it('has one watchdog however many servers run, and none when they have ended', async () => {
    const registry = open({
      a: scripted({ tools: [tool('a')] }),
      b: scripted({ tools: [tool('b')] }),
      c: scripted({ tools: [tool('c')] }),
    });
    await registry.list(null, noSignal);
    expect(watchdogs(process.pid)).toHaveLength(1);
    await registry.close();
    await expect.poll(() => watchdogs(process.pid)).toEqual([]);
  });

  it('a server that crashes takes along what it started, and so does one that is replaced', async () => {
    const script = { grandchild: true, onCall: { die: { exit: true }, live: { resultAfterMs: 0 } } };
    const registry = open({ s: throughRunner(scripted(script)) });
    await failureOf(registry.call('s', call('die'), noSignal));
    const before = pids();
    await registry.call('s', call('live'), noSignal);
    await expect.poll(() => before.filter(isAlive)).toEqual([]);
    expect(pids().filter(isAlive)).toHaveLength(2);
  });

  it.each([
    ['our tool server', 'testkit/tool-server/stdio-main.ts', [], {}],
    ['fermata mcp', 'cli/main.ts', ['mcp'], { FERMATA_LOG_LEVEL: 'error' }],
  ])('%s exits when its stdin ends', async (_what, file, args, env) => {
    const child = spawn(process.execPath, ['--import', 'tsx', join(root, file), ...args], {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    try {
      const params = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      };
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
      expect(await firstLine(child)).toContain('serverInfo');
      const exited = once(child, 'exit', { signal: AbortSignal.timeout(ownExitS * 1_000) });
      child.stdin?.end();
      await exited;
    } finally {
      child.kill('SIGKILL');
    }
  });
});

const root = join(import.meta.dirname, '../../..');

function startWorker(servers: ToolServers): ChildProcess {
  const file = join(import.meta.dirname, 'worker-stand-in.ts');
  return spawn(process.execPath, ['--import', 'tsx', file, JSON.stringify(servers)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [bytes] = (await once(child.stdout ?? child, 'data', {
    signal: AbortSignal.timeout(25_000),
  })) as [Buffer];
  return bytes.toString('utf8');
}

describe('a server that crashes again and again', () => {
  it('is started anew once at once, and then with growing waits', async () => {
    const registry = open({ s: scripted({ exitOnList: true, onCall: { die: { exit: true } } }) });
    for (let round = 0; round < 30; round += 1)
      await registry.call('s', call('die'), noSignal).catch(() => undefined);
    const starts = logged().filter(({ started }) => started !== undefined).length;
    expect(starts).toBeGreaterThanOrEqual(2);
    expect(starts).toBeLessThanOrEqual(5);
    expect((await failureOf(registry.call('s', call('die'), noSignal))).outcome).toBe('not-sent');
  });

  it('at its start says why, and is not started in a storm', async () => {
    const registry = open({ s: scripted({ exitAtStart: 3 }) });
    const listings = await Promise.all(
      Array.from({ length: 10 }, async () => await registry.list(null, noSignal)),
    );
    for (let round = 0; round < 10; round += 1) await registry.list(null, noSignal);
    expect(listings[0]?.warnings).toEqual([expect.stringContaining('exited with code 3')]);
    expect(logged().filter(({ started }) => started !== undefined).length).toBeLessThanOrEqual(2);
  });
});
