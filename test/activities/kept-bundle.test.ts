import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keptBundle, type BundleSources, type WorkflowBundle } from '../../activities/kept-bundle.ts';

let folder: string;
let state: string;
let sources: BundleSources;
let made: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-kept-bundle-'));
  state = join(folder, 'state');
  sources = { root: folder, lockFile: join(folder, 'package-lock.json') };
  made = 0;
  for (const part of ['workflows/budget', 'contracts']) await mkdir(join(folder, part), { recursive: true });
  await write('workflows/index.ts', 'export const one = 1;');
  await write('workflows/budget/ledger.ts', 'export const ledger = 1;');
  await write('contracts/run.ts', 'export const run = 1;');
  await write('package-lock.json', '{}');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function write(path: string, text: string): Promise<void> {
  await writeFile(join(folder, path), text);
}

async function bundle(): Promise<WorkflowBundle> {
  return await keptBundle(state, {
    sources,
    bundle: async (_logger, workflows) => {
      made += 1;
      return { code: `made of ${await readFile(join(workflows ?? '', 'index.ts'), 'utf8')}` };
    },
  });
}

async function codeOf(kept: WorkflowBundle): Promise<string> {
  return 'code' in kept ? kept.code : await readFile(kept.codePath, 'utf8');
}

describe('the kept bundle', () => {
  it('is made once for the same sources', async () => {
    const first = await bundle();
    expect(await bundle()).toEqual(first);
    expect(made).toBe(1);
    expect(await codeOf(first)).toBe('made of export const one = 1;');
  });

  it.each([
    ['a workflow', 'workflows/index.ts'],
    ['a file below the workflows', 'workflows/budget/ledger.ts'],
    ['a contract', 'contracts/run.ts'],
    ['the version of a package', 'package-lock.json'],
    ['a file that is new', 'workflows/new.ts'],
  ])('is made anew when %s has changed', async (_, path) => {
    const first = await bundle();
    await write(path, 'export const changed = 2;');
    expect(await bundle()).not.toEqual(first);
    expect(made).toBe(2);
  });

  it('is made and not kept where it cannot be written', async () => {
    await writeFile(state, 'a file is in the way');
    expect(await bundle()).toEqual({ code: 'made of export const one = 1;' });
  });

  it('is made and not kept where its packages are not pinned', async () => {
    await rm(sources.lockFile);
    expect(await bundle()).toEqual({ code: 'made of export const one = 1;' });
  });

  it('is whole when two workers start at once', async () => {
    const both = await Promise.all([bundle(), bundle()]);
    expect(await Promise.all(both.map(codeOf))).toEqual(both.map(() => 'made of export const one = 1;'));
    expect(await readdir(state)).toHaveLength(1);
  });

  it('does not leave for ever what a killed worker had begun to write', async () => {
    await mkdir(state);
    const begun = join(state, `workflows-${'0'.repeat(32)}.js.${randomUUID()}`);
    await writeFile(begun, 'half of');
    const long = new Date(Date.now() - 60_000);
    await utimes(begun, long, long);
    for (const text of ['2', '3', '4', '5']) {
      await write('workflows/index.ts', text);
      await bundle();
    }
    expect(await readdir(state)).toHaveLength(4);
    await expect(readFile(begun)).rejects.toThrow('ENOENT');
  });

  it('gives way when a fifth is made, the longest unused first', async () => {
    const first = await bundle();
    const long = new Date(Date.now() - 60_000);
    for (const name of await readdir(state)) await utimes(join(state, name), long, long);
    for (const text of ['2', '3', '4']) {
      await write('workflows/index.ts', text);
      await bundle();
    }
    expect(await codeOf(first)).toContain('one = 1');
    await write('workflows/index.ts', '5');
    await bundle();
    expect(await readdir(state)).toHaveLength(4);
    await expect(codeOf(first)).rejects.toThrow('ENOENT');
  });
});
