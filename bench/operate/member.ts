/**
 * One process of fermata that is killed, or asked to stop, and started again at the same place. It remembers
 * when it came and went, for whoever has to tell whose fault a broken request was.
 */
import { join } from 'node:path';
import { nodeFlags } from '../../cli/node-flags.ts';
import { startChild, type RunningChild } from '../../cli/child-process.ts';
import { loader } from '../overhead/arms/one-process.ts';
import { endWithThisProcess } from '../site/end-with-this-process.ts';
import type { MemberKind } from './cluster-plan.ts';

/** From one start to its end; milliseconds since the epoch. */
export interface Life {
  readonly member: string;
  readonly kind: MemberKind;
  readonly pid: number;
  readonly readyMs: number;
  /** When it was told to go; null: it lives. */
  toldMs: number | null;
  /** When it was gone. */
  goneMs: number | null;
  /** `stopped`: asked by SIGTERM. */
  end: 'killed' | 'stopped' | null;
  exitCode: number | null;
}

export interface MemberSpec {
  readonly name: string;
  readonly kind: MemberKind;
  /** Where others reach it; null: nobody needs to. */
  readonly url: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logsDir: string;
  /** Arguments for Node, such as a module to load first. */
  readonly nodeArgs: readonly string[];
}

const entries: Readonly<Record<MemberKind, string>> = {
  worker: 'activities/main.ts',
  'mcp-server': 'mcp-server/main.ts',
  proxy: 'proxy/main.ts',
  scheduler: 'scheduler/host/main.ts',
};

/** Longer than any of them takes to stop in order. */
const stopLimitMs = 75_000;
const startTries = 3;

export class Member {
  readonly name: string;
  readonly kind: MemberKind;
  readonly url: string;
  readonly lives: Life[] = [];
  readonly #spec: MemberSpec;
  #running: RunningChild | null = null;

  constructor(spec: MemberSpec) {
    this.#spec = spec;
    this.name = spec.name;
    this.kind = spec.kind;
    this.url = spec.url ?? '';
  }

  get up(): boolean {
    return this.#running !== null;
  }

  get pid(): number | null {
    return this.#running?.pid ?? null;
  }

  /** @param root folder of the build. @throws SetupFault when it does not come up after three tries. */
  async start(root: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#launch(root);
        return;
      } catch (error) {
        if (attempt >= startTries) throw error;
      }
    }
  }

  async #launch(root: string): Promise<void> {
    const { name, kind, environment, logsDir, nodeArgs } = this.#spec;
    const child = await startChild({
      name,
      command: process.execPath,
      args: [...nodeFlags, ...nodeArgs, ...loader, join(root, entries[kind])],
      environment,
      logPath: join(logsDir, `${name}.log`),
      ready: /\bready at \S+/,
      stopTimeoutMs: stopLimitMs,
      onSpawn: endWithThisProcess,
    });
    this.#running = child;
    this.lives.push({
      member: name,
      kind,
      pid: child.pid,
      readyMs: Date.now(),
      toldMs: null,
      goneMs: null,
      end: null,
      exitCode: null,
    });
  }

  /** kill -9; resolves when it is gone. */
  async kill(): Promise<Life> {
    return await this.#end('killed', async (child) => {
      process.kill(child.pid, 'SIGKILL');
      await child.exited;
    });
  }

  /** SIGTERM, as a deploy sends it; resolves when it is gone, by SIGKILL after 75 s. */
  async stop(): Promise<Life> {
    return await this.#end('stopped', async (child) => await child.close());
  }

  async #end(how: 'killed' | 'stopped', end: (child: RunningChild) => Promise<void>): Promise<Life> {
    const child = this.#running;
    const life = this.lives.at(-1);
    if (child === null || life === undefined) throw new Error(`${this.name} does not run`);
    this.#running = null;
    life.end = how;
    life.toldMs = Date.now();
    await end(child);
    life.goneMs = Date.now();
    life.exitCode = child.exitCode();
    return life;
  }

  async close(): Promise<void> {
    if (this.#running !== null) await this.stop();
  }
}
