/**
 * The image without a container engine: the steps of docker/Dockerfile that need none are run as plain
 * processes into a folder, and its entry point is started from there as the image would start it, with its
 * environment, its user and nothing that it may write. What is not looked at: the base image, what is
 * installed into it, and the network.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { environmentOf, execForm, readStages, valuesOf, type Stage } from './dockerfile.ts';

const root = resolve(import.meta.dirname, '..', '..');
/** Where the image has the app. */
const appPath = '/app';
const readyLimitMs = 120_000;

export interface StagedImage {
  readonly app: string;
  /** What runs the image's JavaScript here. */
  readonly node: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Of the entry point, from `node` on. */
  readonly entry: readonly string[];
  readonly healthCheck: readonly string[];
  /** null: this process may not become another user. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

export interface StagedService {
  readonly pid: number;
  /** Milliseconds from the start to the ready line. */
  readonly readyMs: number;
  /** Address in the ready line; empty when it names none. */
  readonly url: string;
  readonly exited: Promise<number | null>;
  readonly output: () => string;
  /** Sends SIGTERM. @returns its exit code (null: a signal) and how long it took. */
  stop(): Promise<{ readonly code: number | null; readonly tookMs: number }>;
}

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/**
 * Builds the app as the first stage does and reads the rest from the last one.
 * @param folder of its own, empty; the app lies below it. @throws Error when a step fails.
 */
export function stageImage(folder: string, node: string = process.execPath): StagedImage {
  const stages = readStages(readFileSync(join(root, 'docker', 'Dockerfile'), 'utf8'));
  const [build, image] = [stages[0], stages.at(-1)];
  if (build === undefined || image === undefined || build === image)
    throw new Error('two stages are expected');
  const app = join(folder, 'app');
  mkdirSync(folder, { recursive: true });
  // Another user shall see it.
  chmodSync(folder, 0o755);
  for (const step of buildSteps(build)) run(step.replaceAll(appPath, app));
  const here = (word: string): string => word.replace(/^\/app(?=\/|$)/, app);
  const entry = execForm(image, 'ENTRYPOINT').map(here);
  const start = entry.indexOf('node');
  if (start < 0) throw new Error('the entry point does not start node');
  const [uid, gid] = (valuesOf(image, 'USER')[0] ?? '').split(':').map(Number);
  if (uid === undefined || gid === undefined || !(uid > 0))
    throw new Error('the image has no user by number');
  const environment = environmentOf(image);
  return {
    app,
    node,
    environment: Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, here(value)])),
    entry: entry.slice(start + 1),
    healthCheck: healthCheckOf(image).map(here).slice(1),
    user: process.getuid?.() === 0 ? { uid, gid } : null,
  };
}

/** Packages are those of this checkout, so `npm ci` is not among them. */
function buildSteps(build: Stage): readonly string[] {
  return valuesOf(build, 'RUN')
    .flatMap((value) => value.split('&&'))
    .map((step) => step.trim())
    .filter((step) => !step.startsWith('npm '));
}

function healthCheckOf(image: Stage): readonly string[] {
  const [value = ''] = valuesOf(image, 'HEALTHCHECK');
  return JSON.parse(value.slice(value.indexOf('['))) as readonly string[];
}

function run(step: string): void {
  const [command = '', ...args] = step.split(/\s+/);
  const done = spawnSync(command === 'node' ? process.execPath : command, args, {
    cwd: root,
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`${step} failed:\n${done.stdout}${done.stderr}`);
}

/** @param cwd where its configuration is, as a mount at `/etc/fermata`. @throws Error with what it printed. */
export async function startStaged(
  image: StagedImage,
  args: readonly string[],
  { cwd, environment }: { readonly cwd: string; readonly environment: Readonly<Record<string, string>> },
): Promise<StagedService> {
  const startedMs = performance.now();
  const child = spawn(image.node, [...image.entry, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', ...image.environment, ...environment },
    ...image.user,
  });
  const { stdout, stderr, pid } = child;
  if (pid === undefined) throw new Error(`${args.join(' ')} cannot be started`);
  let output = '';
  stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const url = await new Promise<string>((resolveUrl, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${args.join(' ')} was not ready in ${readyLimitMs / 1_000} s: ${output}`));
    }, readyLimitMs);
    createInterface({ input: stdout }).on('line', (line) => {
      output += `${line}\n`;
      if (!/\bready\b/.test(line)) return;
      clearTimeout(timer);
      resolveUrl(/https?:\/\/[^\s"]+/.exec(line)?.[0] ?? '');
    });
    void exited.then((code) => {
      clearTimeout(timer);
      reject(new Error(`${args.join(' ')} ended with ${code}: ${output}`));
    });
  });
  return {
    pid,
    readyMs: performance.now() - startedMs,
    url,
    exited,
    output: () => output,
    stop: async () => {
      const askedMs = performance.now();
      child.kill('SIGTERM');
      return { code: await exited, tookMs: performance.now() - askedMs };
    },
  };
}

/** Runs the image with these arguments to its end: a verb, or the check of its health. */
export function runStaged(
  image: StagedImage,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  cwd: string,
): Outcome {
  const done = spawnSync(image.node, [...image.entry, ...args], {
    cwd,
    encoding: 'utf8',
    timeout: readyLimitMs,
    env: { PATH: process.env['PATH'] ?? '', ...image.environment, ...environment },
    ...image.user,
  });
  return { code: done.status, output: `${done.stdout}${done.stderr}` };
}
