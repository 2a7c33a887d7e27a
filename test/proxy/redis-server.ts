/** A real Redis of a test's own, killed, stopped and started again as the test wants. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { findFreePort } from '../../cli/setup/free-port.ts';
import { ensureRedisServer } from '../../cli/setup/redis-server.ts';
import { closeAfterTest } from './stack.ts';

export interface RedisServer {
  readonly url: string;
  /** Ends it at once, and with it all it knew; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
  /** It keeps its connections and answers nothing, until it is thawed. */
  freeze(): void;
  thaw(): void;
}

const readyWithinMs = 10_000;

export async function startRedis(): Promise<RedisServer> {
  const stateDir = resolve(import.meta.dirname, '..', '..', '.fermata');
  const program = await ensureRedisServer(stateDir, process.env['PATH'] ?? '', () => {});
  const port = await findFreePort('127.0.0.1');
  let child: ChildProcess | null = null;
  const kill = async (): Promise<void> => {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill('SIGKILL');
    await gone;
  };
  const start = async (): Promise<void> => {
    await kill();
    child = await launch(program, port);
  };
  closeAfterTest(kill);
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  };
}

/** Nothing is written to disk. */
async function launch(program: string, port: number): Promise<ChildProcess> {
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no', daemonize: 'no' };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  return await new Promise((done, fail) => {
    let output = '';
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(new Error(`redis-server was not ready in time: ${output}`));
    }, readyWithinMs);
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-4_096);
      if (!output.includes('Ready to accept connections')) return;
      clearTimeout(timer);
      done(child);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', fail);
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(new Error(`redis-server ended (${code}): ${output}`));
    });
  });
}
