/**
 * The real client programs, at exact versions, from the npm registry into a private folder; once, since
 * each version has a folder of its own. Their install scripts are not run, which needs no approval and
 * is the same everywhere: the platform's program comes as an optional dependency and is called directly.
 */
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runBounded } from './bounded-process.ts';

export interface PinnedClient {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** Folder under node_modules and first part of the name of the packages that hold the program. */
  readonly platformPackages: { readonly scope: string; readonly prefix: string };
  /** Path of the program in such a package; a part `*` stands for the one folder that is there. */
  readonly program: string;
}

export const claudeCode: PinnedClient = {
  name: 'claude-code',
  package: '@anthropic-ai/claude-code',
  version: '2.1.197',
  platformPackages: { scope: '@anthropic-ai', prefix: 'claude-code-' },
  program: 'claude',
};

export const openCode: PinnedClient = {
  name: 'opencode',
  package: 'opencode-ai',
  version: '1.18.33',
  platformPackages: { scope: '.', prefix: 'opencode-' },
  program: 'bin/opencode',
};

export const codex: PinnedClient = {
  name: 'codex',
  package: '@openai/codex',
  version: '0.171.0',
  platformPackages: { scope: '@openai', prefix: 'codex-' },
  program: 'vendor/*/bin/codex',
};

export const qwenCode: PinnedClient = {
  name: 'qwen-code',
  package: '@qwen-code/qwen-code',
  // The newest one that runs on Node 20.
  version: '0.15.10',
  platformPackages: { scope: '@qwen-code', prefix: 'qwen-code' },
  program: 'cli.js',
};

export const geminiCli: PinnedClient = {
  name: 'gemini-cli',
  package: '@google/gemini-cli',
  version: '0.61.0',
  platformPackages: { scope: '@google', prefix: 'gemini-cli' },
  program: 'bundle/gemini.js',
};

export const continueCli: PinnedClient = {
  name: 'continue',
  package: '@continuedev/cli',
  version: '1.5.47',
  platformPackages: { scope: '@continuedev', prefix: 'cli' },
  program: 'dist/cn.js',
};

export const cline: PinnedClient = {
  name: 'cline',
  package: 'cline',
  version: '3.0.65',
  platformPackages: { scope: '@cline', prefix: 'cli-' },
  program: 'bin/cline',
};

export interface InstallOptions {
  readonly stateDir: string;
  /** Must hold what npm needs: PATH, HOME, its configuration. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

const installMs = 15 * 60_000;
const progressMs = 5_000;
const extension = process.platform === 'win32' ? '.exe' : '';

function definedOf(environment: InstallOptions['environment']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder, { recursive: true }).catch(() => [])) {
    bytes += (await stat(join(folder, name)).catch(() => null))?.size ?? 0;
  }
  return bytes;
}

/** The path below the package, each `*` replaced by the first name that is there. */
async function pathOf(folder: string, path: string): Promise<string> {
  let found = folder;
  for (const part of path.split('/')) {
    found = join(found, part === '*' ? ((await namesIn(found)).toSorted()[0] ?? part) : part);
  }
  return found + extension;
}

/** The first program of the folder that runs here and names the pinned version; null when none does. */
async function programIn(
  folder: string,
  client: PinnedClient,
  options: InstallOptions,
): Promise<string | null> {
  const scope = join(folder, 'node_modules', client.platformPackages.scope);
  const packages = (await namesIn(scope)).filter((name) => name.startsWith(client.platformPackages.prefix));
  // The shortest name first: longer ones are variants for older processors.
  for (const name of packages.toSorted((a, b) => a.length - b.length)) {
    const program = await pathOf(join(scope, name), client.program);
    const ended = await runBounded(program, ['--version'], {
      cwd: folder,
      env: { ...definedOf(options.environment), HOME: join(folder, 'home') },
      timeoutMs: 30_000,
      signal: options.signal,
    }).catch(() => null);
    options.signal.throwIfAborted();
    if (ended?.code === 0 && ended.stdout.split(/\s+/).includes(client.version)) return program;
  }
  return null;
}

/**
 * Installs the packages into the folder, which is made.
 * @throws Error that says what npm said.
 */
export async function npmInstall(
  folder: string,
  name: string,
  specs: readonly string[],
  options: InstallOptions,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const startedAt = performance.now();
  const progress = setInterval(() => {
    void bytesIn(folder).then((bytes) => {
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      options.print(`  ${name}: ${Math.round(bytes / 2 ** 20)} MiB unpacked after ${seconds} s`);
    });
  }, progressMs);
  try {
    const ended = await runBounded(
      'npm',
      [
        'install',
        ...specs,
        '--save-exact',
        '--ignore-scripts',
        '--include=optional',
        '--no-audit',
        '--no-fund',
        '--no-package-lock',
        `--prefix=${folder}`,
      ],
      { cwd: folder, env: definedOf(options.environment), timeoutMs: installMs, signal: options.signal },
    );
    options.signal.throwIfAborted();
    if (ended.code === 0) return;
    const why = ended.timedOut ? `not done after ${installMs / 60_000} min` : `exit code ${ended.code}`;
    throw new Error(`npm could not install ${specs.join(' ')} (${why}):\n${ended.stderr}`);
  } finally {
    clearInterval(progress);
  }
}

/**
 * Path of the client's program, installed before if need be.
 * @throws Error that says what npm said, or that no program runs on this machine.
 */
export async function installedProgram(client: PinnedClient, options: InstallOptions): Promise<string> {
  const clients = resolve(options.stateDir, 'clients');
  const folder = join(clients, `${client.name}-${client.version}`);
  const installed = await programIn(folder, client, options);
  if (installed !== null) return installed;
  options.print(`installing ${client.package}@${client.version}, this once, into ${folder}`);
  const unfinished = join(clients, `unfinished-${client.name}-${process.pid}`);
  try {
    await npmInstall(unfinished, client.name, [`${client.package}@${client.version}`], options);
    await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  const program = await programIn(folder, client, options);
  if (program !== null) return program;
  throw new Error(
    `${client.package}@${client.version} has no program that runs on ${process.platform}-${process.arch}`,
  );
}
