/**
 * The frameworks that are tried, at exact versions, outside the product's own packages: for JavaScript
 * one private folder with all of them, for Python a virtual environment for each, since their pins differ.
 * Installed once. The programs that use them are copied beside them, where their imports are found.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureVenv } from '../../cli/setup/private-venv.ts';
import { npmInstall } from './pinned-clients.ts';
import type { InstallOptions } from './pinned-clients.ts';

/** The newest versions that still run on Node 20. */
export const jsPackages = {
  ai: '6.0.326',
  '@ai-sdk/openai': '3.0.141',
  '@ai-sdk/openai-compatible': '2.0.92',
  '@anthropic-ai/sdk': '1.14.0',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.4.6',
};

/** Where the programs lie. */
const programs = join(import.meta.dirname, 'sdks');

/** @returns the folder with the packages and the programs. @throws Error that says what npm said. */
export async function installedJsSdks(options: InstallOptions): Promise<string> {
  const specs = Object.entries(jsPackages).map(([name, version]) => `${name}@${version}`);
  const digest = createHash('sha256').update(specs.join(' ')).digest('hex').slice(0, 12);
  const clients = resolve(options.stateDir, 'clients');
  const folder = join(clients, `js-sdks-${digest}`);
  if (!existsSync(folder)) {
    options.print(`installing ${specs.join(' ')}, this once, into ${folder}`);
    const unfinished = join(clients, `unfinished-js-sdks-${process.pid}`);
    try {
      await npmInstall(unfinished, 'js-sdks', specs, options);
      await rename(unfinished, folder);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
  return await withPrograms(folder);
}

/** @returns the folder with the environment `bin/` and the programs. @throws SetupFault that says what pip said. */
export async function installedPythonSdk(
  name: string,
  packages: Readonly<Record<string, string>>,
  options: InstallOptions,
): Promise<string> {
  const specs = Object.entries(packages).map(([one, version]) => `${one}==${version}`);
  const digest = createHash('sha256').update(specs.join(' ')).digest('hex').slice(0, 12);
  const spec = { name: `${name}-${digest}`, installs: [specs], purpose: specs.join(' ') };
  return await withPrograms(await ensureVenv(options.stateDir, spec, options.print));
}

async function withPrograms(folder: string): Promise<string> {
  await mkdir(join(folder, 'programs'), { recursive: true });
  await cp(programs, join(folder, 'programs'), { recursive: true });
  return folder;
}
