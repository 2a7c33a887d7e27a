/**
 * MCP over the standard streams of a child process in a process group of its own, so that closing ends
 * what a package runner started too. Lines that are no JSON-RPC are noise and passed over. It does not
 * restart anything: that is `tool-server.ts`.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { parseJSONRPCMessage, serializeMessage } from '@modelcontextprotocol/client';

export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** UTF-16 units of one message; a longer one closes the connection. */
const longestMessage = 32_000_000;
const exitAfterStdinEndMs = 1_000;
const exitAfterTermMs = 1_000;

/** @param onNoise gets each line that is no message, and each line of stderr. */
export function createStdioTransport(server: StdioServer, onNoise: (line: string) => void): Transport {
  let child: ChildProcessWithoutNullStreams | null = null;
  let exited: Promise<void> = Promise.resolve();
  const transport: Transport = {
    async start() {
      const started = spawn(server.command, [...server.args], {
        env: { ...server.env },
        cwd: server.cwd,
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      child = started;
      const group = started.pid;
      if (group !== undefined) endWithProcess(group);
      exited = new Promise((resolve) => {
        started.once('exit', () => {
          // Whatever the server started ends with it; else it would hold the pipes, or live on for good.
          if (group !== undefined) endGroup(group);
          resolve();
        });
      });
      // All it has said has been read by then.
      started.once('close', () => transport.onclose?.());
      started.stdin.on('error', (error) => transport.onerror?.(error));
      readLines(started.stderr, onNoise, () => undefined);
      readLines(
        started.stdout,
        (line) => {
          const message = parseMessage(line);
          if (message === null) onNoise(line);
          else transport.onmessage?.(message);
        },
        () => {
          transport.onerror?.(new Error('the tool server sent a message that is too long'));
          void transport.close();
        },
      );
      await new Promise<void>((resolve, reject) => {
        started.once('spawn', resolve);
        started.once('error', (error) => {
          child = null;
          reject(error);
        });
      });
    },
    async send(message) {
      const stdin = child?.stdin;
      if (stdin === undefined || !stdin.writable) throw new Error('the tool server has exited');
      await new Promise<void>((resolve, reject) => {
        stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      });
    },
    async close() {
      const closing = child;
      child = null;
      if (closing?.pid === undefined) return;
      closing.stdin.end();
      if (!(await settledWithin(exited, exitAfterStdinEndMs))) {
        signalGroup(closing.pid, 'SIGTERM');
        if (!(await settledWithin(exited, exitAfterTermMs))) endGroup(closing.pid);
      }
      await exited;
    },
  };
  return transport;
}

const liveGroups = new Set<number>();
let hooked = false;

/** A worker that exits without closing takes its tool servers along; one that is killed leaves them their closed stdin. */
function endWithProcess(group: number): void {
  if (!hooked) process.once('exit', () => liveGroups.forEach((live) => signalGroup(live, 'SIGKILL')));
  hooked = true;
  liveGroups.add(group);
}

function endGroup(group: number): void {
  signalGroup(group, 'SIGKILL');
  liveGroups.delete(group);
}

/** Signals a whole process group; one that is gone already is no fault. */
function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readLines(
  stream: NodeJS.ReadableStream,
  onLine: (line: string) => void,
  onTooLong: () => void,
): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('error', () => undefined);
  stream.on('data', (bytes: Buffer) => {
    rest += decoder.write(bytes);
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') onLine(line);
    if (rest.length <= longestMessage) return;
    rest = '';
    onTooLong();
  });
}

function parseMessage(line: string): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(JSON.parse(line));
  } catch {
    return null;
  }
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
