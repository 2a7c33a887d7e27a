/**
 * MCP over the standard streams of a child process in a process group of its own, so that closing ends
 * what a package runner started too. Lines that are no JSON-RPC are noise and passed over; stderr is
 * always drained. It does not restart anything: that is `keep-connection.ts`.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { SdkError, SdkErrorCode, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { createLineReader, type LineEvents } from './line-reader.ts';
import { endGroup, signalGroup, trackGroup } from './process-groups.ts';
import { readStdioLine } from './stdio-messages.ts';

export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

export interface StdioTransport extends Transport {
  /** How the process ended, such as `exited with code 1`; null: it runs, or never did. */
  ended(): string | null;
}

export interface StdioOutput {
  /** Gets each line of stdout that is no message. */
  onNoise(line: string): void;
  onStderr(line: string): void;
}

/** UTF-16 units of one message; a longer one closes the connection. */
const longestMessage = 32_000_000;
/** UTF-16 units of one line of stderr; a longer one is dropped. */
const longestStderrLine = 64_000;
const exitAfterStdinEndMs = 1_000;
const exitAfterTermMs = 1_000;
/** Milliseconds that pipes stay open after the exit, for what was said last. */
const drainMs = 5_000;

export function createStdioTransport(server: StdioServer, output: StdioOutput): StdioTransport {
  let child: ChildProcessWithoutNullStreams | null = null;
  let ended: string | null = null;
  let exited: Promise<void> = Promise.resolve();
  let closed: Promise<void> = Promise.resolve();
  let closing: Promise<void> | null = null;

  const onStdoutLine = (line: string): void => {
    const read = readStdioLine(line);
    if (read.kind === 'messages') {
      for (const message of read.messages) transport.onmessage?.(message);
      return;
    }
    output.onNoise(line);
    if (read.kind === 'noise') return;
    const error = { code: -32_600, message: 'Invalid request' };
    transport.send({ jsonrpc: '2.0', id: read.id, error }).catch(() => undefined);
  };
  const transport: StdioTransport = {
    ended: () => ended,
    async start() {
      const started = spawnGroup(server);
      child = started;
      // All it has said has been read by the close.
      closed = new Promise((resolve) => {
        started.once('close', () => {
          resolve();
          transport.onclose?.();
        });
      });
      exited = groupEnd(started).then((how) => {
        ended = how;
      });
      started.stdin.on('error', (error) => transport.onerror?.(error));
      readLines(started.stderr, longestStderrLine, { onLine: output.onStderr, onTooLong: () => undefined });
      readLines(started.stdout, longestMessage, {
        onLine: onStdoutLine,
        onTooLong() {
          transport.onerror?.(new Error('the tool server sent a message that is too long'));
          void transport.close();
        },
      });
      await spawned(started).catch((error: unknown) => {
        child = null;
        throw error;
      });
    },
    async send(message) {
      const stdin = child?.stdin;
      const isOpen = stdin?.writable === true && ended === null;
      if (stdin === undefined || !isOpen) throw notSent('the tool server has exited');
      await new Promise<void>((resolve, reject) => {
        // A line without its end is no message: a write that failed was not read.
        stdin.write(serializeMessage(message), (error) =>
          error ? reject(notSent(error.message)) : resolve(),
        );
      });
    },
    async close() {
      closing ??= child === null ? null : end(child, exited, closed);
      await closing;
    },
  };
  return transport;
}

function spawnGroup({ command, args, env, cwd }: StdioServer): ChildProcessWithoutNullStreams {
  const child = spawn(command, [...args], {
    env: { ...env },
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) trackGroup(child.pid);
  return child;
}

/** Resolves with how the process ended. Whatever it started ends with it; else it would live on for good. */
async function groupEnd(child: ChildProcessWithoutNullStreams): Promise<string> {
  return await new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      if (child.pid !== undefined) endGroup(child.pid);
      closePipes(child, drainMs);
      resolve(signal === null ? `exited with code ${code ?? 0}` : `was ended by ${signal}`);
    });
  });
}

/** Asks a process to end, and makes it; resolves when it has and all its pipes are closed. */
async function end(
  child: ChildProcessWithoutNullStreams,
  exited: Promise<void>,
  closed: Promise<void>,
): Promise<void> {
  const group = child.pid;
  if (group === undefined) return;
  child.stdin.end();
  if (!(await settledWithin(exited, exitAfterStdinEndMs))) {
    signalGroup(group, 'SIGTERM');
    if (!(await settledWithin(exited, exitAfterTermMs))) signalGroup(group, 'SIGKILL');
  }
  await exited;
  await closed;
}

function notSent(message: string): SdkError {
  return new SdkError(SdkErrorCode.NotConnected, message);
}

/** @throws the error of a program that cannot be started. */
async function spawned(child: ChildProcessWithoutNullStreams): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

/** A process that left the group may hold the pipes of one that has exited: they are not waited for for ever. */
function closePipes(child: ChildProcessWithoutNullStreams, afterMs: number): void {
  const timer = setTimeout(() => {
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
  }, afterMs);
  child.once('close', () => clearTimeout(timer));
}

function readLines(stream: NodeJS.ReadableStream, longestLine: number, events: LineEvents): void {
  const lines = createLineReader(longestLine, events);
  stream.on('error', () => undefined);
  stream.on('data', (bytes: Buffer) => lines.push(bytes));
  stream.on('end', () => lines.end());
}

async function settledWithin(promise: Promise<void>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
