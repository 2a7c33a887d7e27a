/** Starts `fermata up --json` as a user's terminal would, on free ports, and sees that it is gone at the end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import { z } from 'zod';

const readySchema = z.looseObject({
  ready: z.literal(true),
  pid: z.number(),
  proxyUrl: z.string(),
  mcpUrl: z.string(),
  schedulerUrl: z.string(),
  toolServerUrl: z.string().nullable(),
  engineUrls: z.array(z.string()),
  temporal: z.looseObject({ address: z.string() }),
  pids: z.record(z.string(), z.number()),
});
export type Ready = z.infer<typeof readySchema>;

export interface UpProcess {
  readonly pid: number;
  /** Rejects with what it printed when it ends before it is ready. */
  readonly ready: Promise<Ready>;
  /** Exit code and everything on stderr, at its end. */
  readonly ended: Promise<{ code: number | null; stderr: string }>;
  /** What it has written to stderr so far. */
  stderr(): string;
  signal(name: NodeJS.Signals): void;
}

export interface UpOptions {
  readonly stateDir: string;
  /** Put first on PATH, so that nothing is fetched; null: PATH is what `environment` says. */
  readonly temporalBinary: string | null;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** As `npm start`, which is then what gets the signals. */
  readonly throughNpm?: boolean;
}

const root = resolve(import.meta.dirname, '..', '..');

export function runUp(options: UpOptions): UpProcess {
  bringBundle(options.stateDir);
  const anyPort = Object.fromEntries(
    ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'].map((name) => [
      `FERMATA_${name}_PORT`,
      '0',
    ]),
  );
  const path = process.env['PATH'] ?? '';
  const args = ['--json', ...(options.args ?? [])];
  const direct = ['--import', 'tsx', join(root, 'cli', 'main.ts'), 'up', ...args];
  const child = spawn(
    options.throughNpm === true ? 'npm' : process.execPath,
    options.throughNpm === true ? ['start', '--silent', '--', ...args] : direct,
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PATH: options.temporalBinary === null ? path : `${dirname(options.temporalBinary)}:${path}`,
        ...anyPort,
        FERMATA_STATE_DIR: options.stateDir,
        // Whoever runs the tests may have tokens of their own.
        FERMATA_TOKEN: '',
        FERMATA_TOKENS_FILE: '',
        ...options.environment,
      },
    },
  );
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stderr }));
  const ready = new Promise<Ready>((resolveReady, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => {
      const parsed = readySchema.safeParse(JSON.parse(line));
      if (parsed.success) resolveReady(parsed.data);
      else reject(new Error(`not a ready line: ${line}`));
    });
    void ended.then(({ code }) => reject(new Error(`ended with ${code} before it was ready: ${stderr}`)));
  });
  ready.catch(() => {});
  if (child.pid === undefined) throw new Error('fermata up has no process id');
  return { pid: child.pid, ready, ended, stderr: () => stderr, signal: (name) => child.kill(name) };
}

/** Making the bundle of the workflows takes seconds of processor; that it is made and kept is tested elsewhere. */
function bringBundle(stateDir: string): void {
  const path = inject('workflowBundlePath');
  if (existsSync(stateDir)) copyFileSync(path, join(stateDir, basename(path)));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Polls until `condition` holds. @throws Error that names it when it does not within the limit. */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  limitMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resume) => setTimeout(resume, 25));
  }
}
