/**
 * Scripted tool servers for the tests of a file: real processes, a log of all they got, and a registry over
 * them. After each test the registry is closed, and every process that was started must have ended.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect } from 'vitest';
import type { ToolServerError } from '../../../activities/tool-servers/call-failure.ts';
import { createToolRegistry, type ToolRegistry } from '../../../activities/tool-servers/tool-registry.ts';
import type { ToolServerConfig, ToolServers } from '../../../contracts/config-file.ts';

/** One line of the log: a message as the server got it, or the id of a process. */
export interface Logged {
  readonly method?: string;
  readonly id?: string | number;
  readonly params?: {
    readonly name?: string;
    readonly cursor?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
    readonly requestId?: unknown;
  };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly started?: number;
  readonly grandchild?: number;
}

export interface LoggedWarning {
  readonly level: number;
  readonly msg: string;
  readonly line?: string;
  readonly [field: string]: unknown;
}

export interface ScriptedServers {
  /** A folder of this test. */
  folder(): string;
  config(script: Readonly<Record<string, unknown>>, limits?: Partial<ToolServerConfig>): ToolServerConfig;
  /** Closed after the test. */
  open(servers: ToolServers): ToolRegistry;
  /** What all servers of the test have got, in order. */
  logged(): Logged[];
  /** Messages of one method. */
  sent(method: string): Logged[];
  /** Ids of all processes that were started. */
  pids(): number[];
  /** What the registry logged. */
  worker(): LoggedWarning[];
}

export const noSignal = new AbortController().signal;
export const tool = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});
export const call = (name: string, idempotencyKey = 'run_1:c1') => ({
  tool: name,
  arguments: {},
  idempotencyKey,
});

const program = join(import.meta.dirname, 'scripted-server.mjs');

/** To be called once at the top of a test file. */
export function useScriptedServers(): ScriptedServers {
  let folder = '';
  let registries: ToolRegistry[] = [];
  let worker: LoggedWarning[] = [];
  const logged = (): Logged[] => {
    const path = join(folder, 'log');
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Logged);
  };
  const pids = (): number[] => logged().flatMap(({ started, grandchild }) => started ?? grandchild ?? []);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fermata-tools-'));
    worker = [];
  });
  afterEach(async () => {
    await Promise.all(registries.map(async (registry) => await registry.close()));
    registries = [];
    await expect.poll(() => pids().filter(isAlive), { timeout: 10_000 }).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder: () => folder,
    config: (script, limits = {}) =>
      ({
        command: process.execPath,
        args: [program, JSON.stringify({ log: join(folder, 'log'), ...script })],
        env: {},
        idleTimeoutMs: 60_000,
        totalTimeoutMs: 600_000,
        ...limits,
      }) as ToolServerConfig,
    open(servers) {
      const sink = { write: (line: string) => void worker.push(JSON.parse(line) as LoggedWarning) };
      const registry = createToolRegistry(servers, { logger: pino({ level: 'debug' }, sink) });
      registries.push(registry);
      return registry;
    },
    logged,
    sent: (method) => logged().filter((entry) => entry.method === method),
    pids,
    worker: () => worker,
  };
}

/** @throws when the work does not fail. */
export async function failureOf(work: Promise<unknown>): Promise<ToolServerError> {
  return (await work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error,
  )) as ToolServerError;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie that nobody has collected yet is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
