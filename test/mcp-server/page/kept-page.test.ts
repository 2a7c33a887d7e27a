import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keptPage, PageFault, type KeptPageOptions } from '../../../mcp-server/page/kept-page.ts';

let root = '';
let built = 0;
beforeEach(async () => {
  built = 0;
  root = await mkdtemp(join(tmpdir(), 'fermata-page-'));
  await mkdir(join(root, 'web'));
  await writeFile(join(root, 'package-lock.json'), '{}');
  await writeFile(join(root, 'web', 'main.tsx'), 'one');
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

function options(part: Partial<KeptPageOptions> = {}): KeptPageOptions {
  return {
    sources: { web: join(root, 'web'), lockFile: join(root, 'package-lock.json') },
    async build(folder) {
      built += 1;
      await mkdir(folder);
      await writeFile(join(folder, 'index.html'), await readFile(join(root, 'web', 'main.tsx')));
    },
    ...part,
  };
}

async function shown(): Promise<string> {
  return await readFile(join(await keptPage(options()), 'index.html'), 'utf8');
}

describe('the built page', () => {
  it('is built once for the same sources, also by two at once', async () => {
    const folders = await Promise.all([keptPage(options()), keptPage(options())]);
    expect(new Set(folders).size).toBe(1);
    const before = built;
    expect(await shown()).toBe('one');
    expect(built).toBe(before);
    expect(await readdir(join(root, 'web', 'dist'))).toHaveLength(1);
  });

  it('is another one for another source, another package or another file', async () => {
    await shown();
    await writeFile(join(root, 'web', 'main.tsx'), 'two');
    expect(await shown()).toBe('two');
    await writeFile(join(root, 'package-lock.json'), '{"packages":{}}');
    await shown();
    await writeFile(join(root, 'web', 'more.css'), '');
    await shown();
    expect(built).toBe(4);
  });

  it('keeps the newest two', async () => {
    const folders: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      await writeFile(join(root, 'web', 'main.tsx'), text);
      const folder = await keptPage(options());
      folders.push(folder);
      const age = new Date(Date.now() - 1_000 * (10 - folders.length));
      await utimes(folder, age, age);
    }
    const kept = await readdir(join(root, 'web', 'dist'));
    expect(kept.map((name) => join(root, 'web', 'dist', name)).toSorted()).toEqual(
      folders.slice(1).toSorted(),
    );
  });

  it('that cannot be built is told in words, and leaves nothing behind', async () => {
    const broken = options({
      build: async (folder) => {
        await mkdir(folder);
        throw new Error('a fault on line 3');
      },
    });
    const failing = keptPage(broken);
    await expect(failing).rejects.toThrow(PageFault);
    await expect(failing).rejects.toThrow('a fault on line 3');
    expect(await readdir(join(root, 'web', 'dist'))).toEqual([]);
    expect(await shown()).toBe('one');
  });
});
