/** What docker/Dockerfile says is held to the sources: nothing it names is missing, and nothing it needs is left out. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serviceNames } from '../../cli/service-names.ts';
import { settingsTable } from '../../contracts/settings-table.ts';
import {
  environmentOf,
  execForm,
  readStages,
  valuesOf,
  type Stage,
} from '../../scripts/release/dockerfile.ts';
import { lockSchema, productionPackages } from '../../scripts/release/production-packages.ts';
import { importClosure, root } from './import-closure.ts';

const text = readFileSync(join(root, 'docker', 'Dockerfile'), 'utf8');
const stages = readStages(text);
const [build, image] = [stages[0], stages.at(-1)] as [Stage, Stage];
const app = importClosure(['cli/service-main.ts']);
const lock = lockSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));

describe('the image', () => {
  it('is two stages of one base image, named by exact version', () => {
    const base = /^ARG NODE_IMAGE=(\S+)$/m.exec(text)?.[1] ?? '';
    expect(base).toMatch(/^node:\d+\.\d+\.\d+-[a-z]+-slim$/);
    expect([...text.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name)).toEqual([
      '${NODE_IMAGE}',
      '${NODE_IMAGE}',
    ]);
  });

  it('runs as a user without rights, known by number', () => {
    expect(valuesOf(image, 'USER')).toEqual(['10001:10001']);
    // Nothing is installed or copied as that user, so nothing of the app is its own.
    expect(image.instructions.findIndex(({ name }) => name === 'USER')).toBeGreaterThan(
      image.instructions.findLastIndex(({ name }) => name === 'RUN' || name === 'COPY'),
    );
    expect(valuesOf(image, 'COPY').filter((value) => value.includes('--chown'))).toEqual([]);
  });

  it('starts one program under tini and asks it for its health, without a shell', () => {
    const entry = execForm(image, 'ENTRYPOINT');
    expect(entry.slice(0, 3)).toEqual(['/usr/bin/tini', '--', 'node']);
    const program =
      entry
        .at(-1)
        ?.replace(/^\/app\//, '')
        .replace(/\.js$/, '.ts') ?? '';
    expect(existsSync(join(root, program))).toBe(true);
    const compiled = JSON.parse(readFileSync(join(root, 'docker', 'tsconfig.json'), 'utf8')) as {
      files: string[];
    };
    expect(compiled.files).toEqual([`../${program}`]);
    const [check = ''] = valuesOf(image, 'HEALTHCHECK');
    expect(JSON.parse(check.slice(check.indexOf('[')))).toEqual(['node', entry.at(-1), 'health']);
    expect(valuesOf(image, 'RUN').join(' ')).toMatch(/install[^&]* tini/);
  });

  it('sets only what is a setting, and opens the ports that the services have', () => {
    const names = Object.keys(environmentOf(image)).filter((name) => name.startsWith('FERMATA_'));
    expect(names.filter((name) => !(name in settingsTable))).toEqual([]);
    // Who starts it says whether others may reach it.
    expect(names).not.toContain('FERMATA_HOST');
    const ports = (['SCHEDULER', 'MCP', 'PROXY', 'WORKER'] as const).map(
      (service) => settingsTable[`FERMATA_${service}_PORT`].default,
    );
    expect(valuesOf(image, 'EXPOSE').flatMap((value) => value.split(' '))).toEqual(ports);
  });

  it('runs scripts that are there', () => {
    const scripts = valuesOf(build, 'RUN').flatMap((value) => value.match(/scripts\/\S+/g) ?? []);
    expect(scripts.length).toBeGreaterThan(1);
    expect(scripts.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each(serviceNames)('has the entry point of %s', (name) => {
    const entry = readFileSync(join(root, 'cli', 'service-main.ts'), 'utf8');
    const path = new RegExp(`'?${name}'?: async \\(\\) => await import\\('\\.\\./(\\S+)'\\)`).exec(
      entry,
    )?.[1];
    expect(path).toBeDefined();
    expect(app.files.has(path ?? '')).toBe(true);
  });
});

describe('the context of the image', () => {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const taken = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));

  it('leaves out everything that it does not name', () => {
    expect(lines[0]).toBe('*');
    expect(taken.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('has every file that is compiled, bundled or built, and the scripts that do it', () => {
    const needed = importClosure([
      'cli/service-main.ts',
      'workflows/index.ts',
      'web/main.tsx',
      'web/vite.config.ts',
      'scripts/release/build-app.ts',
      'scripts/release/copy-packages.ts',
    ]);
    const outside = [...needed.files, 'docker/tsconfig.json', 'tsconfig.json', 'package-lock.json'].filter(
      (file) => !taken.some((path) => file === path || file.startsWith(`${path}/`)),
    );
    expect(outside).toEqual([]);
  });

  it('has no folder that nothing of the image comes from', () => {
    const roots = new Set([...app.files].map((file) => file.split('/')[0]));
    const idle = taken.filter((path) => !path.includes('.') && !path.includes('/') && !roots.has(path));
    // The page and the bundle are made of these two; services reach neither.
    expect(idle).toEqual(['LICENSE', 'web', 'workflows']);
  });
});

describe('the packages of the image', () => {
  const packages = productionPackages(lock);
  const names = new Set(
    packages.filter((path) => !path.includes('/node_modules/')).map((path) => path.slice(13)),
  );

  it('hold every package that a service loads', () => {
    const workflows = importClosure(['workflows/index.ts']);
    const wanted = [...app.packages, ...workflows.packages];
    expect(wanted.length).toBeGreaterThan(15);
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(['vitest', 'typescript', 'tsx', 'esbuild', 'vite', 'oxlint', 'playwright-core'])(
    'leave out %s',
    (name) => {
      expect(names.has(name)).toBe(false);
    },
  );

  it('are found where Node.js finds them, with those that a package brings for itself', () => {
    const entry = (
      dependencies: Record<string, string> = {},
      optionalDependencies: Record<string, string> = {},
    ) => ({
      dependencies,
      optionalDependencies,
      peerDependencies: {},
    });
    const small = {
      packages: {
        '': entry({ a: '1', tsx: '1' }),
        'node_modules/a': entry({ b: '2' }, { native: '1', absent: '1' }),
        'node_modules/a/node_modules/b': entry({ c: '1' }),
        'node_modules/b': entry(),
        'node_modules/c': entry({ b: '1' }),
        'node_modules/native': entry(),
        'node_modules/tsx': entry({ c: '1' }),
      },
    };
    expect(productionPackages(small)).toEqual([
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/b',
      'node_modules/c',
      'node_modules/native',
    ]);
    expect(() => productionPackages({ packages: { '': entry({ gone: '1' }) } })).toThrow(/gone/);
  });
});
