import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';

let cwd = '';
beforeAll(async () => {
  cwd = await mkdtemp(`${tmpdir()}/fermata-bounded-`);
});
afterAll(async () => {
  await rm(cwd, { recursive: true });
});

const never = new AbortController().signal;

async function run(script: string, more: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Ended> {
  return await runBounded(process.execPath, ['-e', script], {
    cwd,
    env: { GIVEN: 'yes' },
    timeoutMs: more.timeoutMs ?? 20_000,
    signal: more.signal ?? never,
  });
}

/** A socket that the client's own child holds open; `closed` resolves when that child is gone. */
async function childWitness(): Promise<{ port: number; connected: Promise<void>; closed: Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const socket = new Promise<Socket>((resolve) => {
    server.once('connection', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    connected: socket.then(() => undefined),
    closed: socket.then(
      async (connection) =>
        await new Promise<void>((resolve) => {
          connection.on('error', () => {}).on('close', () => server.close(() => resolve()));
        }),
    ),
  };
}

/** A program whose child connects to the port and outlives it unless it is killed. */
const withChild = (port: number, then: string): string => `
  const child = require('node:child_process').spawn(process.execPath, ['-e',
    "require('node:net').connect(${port}, '127.0.0.1', () => console.log('up')); setInterval(() => {}, 1000)"],
    { stdio: 'pipe' });
  child.stdout.once('data', () => { ${then} });
  child.stdout.unref(); child.stdin.unref(); child.stderr.unref(); child.unref();
  setInterval(() => {}, 1000);`;

describe('a bounded process', () => {
  it('tells the exit code and both streams, with the environment it was given and no other', async () => {
    const ended = await run(
      "console.log(Object.keys(process.env).join()); console.error('oh'); process.exit(3)",
    );
    expect(ended).toMatchObject({ code: 3, timedOut: false, stdout: 'GIVEN\n', stderr: 'oh\n' });
  });

  it('finds its standard input at its end', async () => {
    expect(await run("process.stdin.resume().on('end', () => process.exit(7))")).toMatchObject({ code: 7 });
  });

  it('keeps the last of an endless output', async () => {
    const ended = await runBounded(process.execPath, ['-e', "console.log('a'.repeat(99999) + 'end')"], {
      cwd,
      env: {},
      timeoutMs: 20_000,
      signal: never,
      outputLimit: 10,
    });
    expect(ended.stdout).toBe('aaaaaaend\n');
  });

  it('is killed when its time is up', async () => {
    const ended = await run('setInterval(() => {}, 1000)', { timeoutMs: 200 });
    expect(ended).toMatchObject({ code: null, timedOut: true });
  });

  it('takes what it left running with it when it ends by itself', async () => {
    const witness = await childWitness();
    const ended = await run(withChild(witness.port, 'process.exit(0)'));
    expect(ended).toMatchObject({ code: 0, timedOut: false });
    await witness.closed;
  });

  it('is killed with its children when the signal aborts', async () => {
    const stop = new AbortController();
    const witness = await childWitness();
    const running = run(withChild(witness.port, ''), { signal: stop.signal });
    await witness.connected;
    stop.abort();
    expect(await running).toMatchObject({ code: null, timedOut: false });
    await witness.closed;
  });

  it('is not started at all for a signal that has aborted', async () => {
    await expect(run('', { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
  });

  it('says so when there is no such program', async () => {
    await expect(
      runBounded('/no/such/program', [], { cwd, env: {}, timeoutMs: 1_000, signal: never }),
    ).rejects.toThrow('ENOENT');
  });
});
