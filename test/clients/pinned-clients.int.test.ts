import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installedProgram } from './pinned-clients.ts';
import type { PinnedClient } from './pinned-clients.ts';

const client: PinnedClient = {
  name: 'heron',
  package: 'heron-cli',
  version: '1.2.3',
  platformPackages: { scope: '.', prefix: 'heron-' },
  program: 'bin/heron',
};

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-pinned-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function script(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
}

/** An `npm` that writes these packages, each a program that prints a version. */
async function fakeNpm(versionOf: Readonly<Record<string, string>>, exit = 0): Promise<string> {
  const bin = join(folder, 'bin');
  const writes = Object.entries(versionOf).map(
    ([name, version]) =>
      `mkdir -p node_modules/${name}/bin; printf '#!/bin/sh\\necho ${version}\\n' > node_modules/${name}/bin/heron; chmod +x node_modules/${name}/bin/heron`,
  );
  await script(join(bin, 'npm'), [...writes, 'echo "npm says no" >&2', `exit ${exit}`].join('\n'));
  return bin;
}

async function install(bin: string, lines: string[] = [], of = client): Promise<string> {
  return await installedProgram(of, {
    stateDir: folder,
    environment: { PATH: `${bin}:/usr/bin:/bin` },
    signal: new AbortController().signal,
    print: (line) => lines.push(line),
  });
}

describe('a pinned client', () => {
  it('is installed once', async () => {
    const lines: string[] = [];
    const bin = await fakeNpm({ 'heron-linux': '1.2.3' });
    const program = await install(bin, lines);
    expect(program).toBe(join(folder, 'clients/heron-1.2.3/node_modules/heron-linux/bin/heron'));
    expect(lines.some((line) => line.includes('heron-cli@1.2.3'))).toBe(true);
    expect(await install('/nowhere', lines)).toBe(program);
    expect(lines.filter((line) => line.includes('heron-cli@1.2.3'))).toHaveLength(1);
  });

  it('is the first variant that runs here and is of the pinned version', async () => {
    const bin = await fakeNpm({ 'heron-a': '9.9.9', 'heron-old-cpu': '1.2.3' });
    expect(await install(bin)).toContain('heron-old-cpu');
  });

  it('may lie in a folder that is named by the platform', async () => {
    const bin = await fakeNpm({ 'heron-linux': '1.2.3' });
    const program = await install(bin, [], { ...client, program: '*/heron' });
    expect(program).toBe(join(folder, 'clients/heron-1.2.3/node_modules/heron-linux/bin/heron'));
  });

  it('leaves nothing behind and tells what npm said when it cannot be installed', async () => {
    const bin = await fakeNpm({}, 1);
    await expect(install(bin)).rejects.toThrow('npm says no');
    expect(await readdir(join(folder, 'clients'))).toEqual([]);
  });

  it('is refused when what came is another version', async () => {
    const bin = await fakeNpm({ 'heron-linux': '1.2.4' });
    await expect(install(bin)).rejects.toThrow('has no program that runs on');
  });
});
