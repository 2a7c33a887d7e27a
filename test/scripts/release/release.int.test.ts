/** A release in a repository of its own, with real git: what it changes, what it leaves, and how it goes on. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { imageTags, release, type ReleaseOptions } from '../../../scripts/release/release.ts';
import { releasedPaths } from '../../../scripts/release/version-files.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const options: ReleaseOptions = {
  version: '98.76.54',
  date: '2030-01-02',
  dryRun: false,
  image: 'registry.test/fermata',
  branch: 'main',
};

let repository: string;
let said: string[];
/** Programs other than git that were started. */
let started: string[];
/** Whether recording works. */
let records: boolean;

beforeEach(async () => {
  repository = await mkdtemp(join(tmpdir(), 'fermata-release-'));
  said = [];
  started = [];
  records = true;
  for (const path of releasedPaths) {
    mkdirSync(join(repository, dirname(path)), { recursive: true });
    writeFileSync(join(repository, path), readFileSync(join(root, path)));
  }
  // Right after a release nothing is unreleased.
  writeFileSync(join(repository, 'CHANGELOG.md'), '# Changelog\n\n## [Unreleased]\n\n- A thing.\n');
  writeFileSync(join(repository, 'other.txt'), 'as it was\n');
  git('init', '--quiet', '--initial-branch', 'main');
  git('config', 'user.name', 'Release');
  git('config', 'user.email', 'release@example.test');
  git('config', 'commit.gpgsign', 'false');
  git('add', '.');
  git('commit', '--quiet', '-m', 'Begin');
});
afterEach(async () => {
  await rm(repository, { recursive: true, force: true });
});

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim();
}

/** Real git; no container engine; recording histories takes minutes, so that it writes one file here. */
function run(command: string, args: readonly string[]): { code: number; output: string } | null {
  if (command === 'git') {
    const done = spawnSync('git', args, { cwd: repository, encoding: 'utf8' });
    return { code: done.status ?? 1, output: `${done.stdout}${done.stderr}` };
  }
  started.push([command, ...args].join(' '));
  if (command !== 'node') return null;
  if (!records) return { code: 1, output: 'Temporal cannot be had' };
  const folder = join(repository, 'test', 'fixtures', 'histories', options.version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'simple.json'), '{}\n');
  return { code: 0, output: '' };
}

function releaseNow(changes: Partial<ReleaseOptions> = {}): void {
  release({ ...options, ...changes }, { root: repository, run, say: (line) => said.push(line) });
}

describe('a release', () => {
  it('changes nothing when it is dry, and tells all that it would do', () => {
    const before = [git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')];
    releaseNow({ dryRun: true });
    expect([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]).toEqual(before);
    expect(started.filter((line) => !line.startsWith('docker info'))).toEqual([]);
    const steps = said.filter((line) => line.startsWith('would'));
    expect(steps).toHaveLength(5);
    for (const path of releasedPaths) expect(steps[0]).toContain(path);
    expect(steps.join('\n')).toMatch(
      /histories.*commit "Release 98\.76\.54".*tag v98\.76\.54.*docker build/s,
    );
  });

  it('sets the version everywhere, records, commits, tags, and says what to push', () => {
    releaseNow();
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '-1', '--format=%s')).toBe('Release 98.76.54');
    expect(git('rev-parse', 'v98.76.54^{commit}')).toBe(git('rev-parse', 'HEAD'));
    expect(git('cat-file', '-t', 'v98.76.54')).toBe('tag');
    const changed = git('show', '--name-only', '--format=', 'HEAD').split('\n');
    expect(changed.toSorted()).toEqual(
      [...releasedPaths, 'test/fixtures/histories/98.76.54/simple.json'].toSorted(),
    );
    expect(readFileSync(join(repository, 'CHANGELOG.md'), 'utf8')).toContain('## [98.76.54] - 2030-01-02');
    expect(started).toContain('node --import tsx scripts/record-histories.ts');
    expect(said.join('\n')).toMatch(/git push origin main v98\.76\.54/);
    expect(said.join('\n')).toMatch(/docker push registry\.test\/fermata:98\.76\.54/);
  });

  it('has nothing left to do the second time', () => {
    releaseNow();
    const head = git('rev-parse', 'HEAD');
    said = [];
    releaseNow({ date: '2030-02-02' });
    expect(git('rev-parse', 'HEAD')).toBe(head);
    expect(said.filter((line) => line.startsWith('done'))).toHaveLength(4);
  });

  it('goes on where it was broken off', () => {
    records = false;
    expect(() => releaseNow()).toThrow(/record-histories.*Temporal cannot be had/);
    expect(git('tag')).toBe('');
    records = true;
    releaseNow();
    expect(git('log', '-1', '--format=%s')).toBe('Release 98.76.54');
    expect(git('rev-list', '--count', 'HEAD')).toBe('2');
    expect(git('tag')).toBe('v98.76.54');
  });

  it.each<[string, () => void, Partial<ReleaseOptions>, RegExp]>([
    [
      'a tree that is not clean',
      () => writeFileSync(join(repository, 'other.txt'), 'changed\n'),
      {},
      /other\.txt/,
    ],
    ['another branch', () => git('switch', '--quiet', '-c', 'work'), {}, /this is work/],
    ['no version', () => {}, { version: 'next' }, /no version/],
    ['a version before this one', () => {}, { version: '0.0.0-rc.1' }, /comes before/],
    [
      'a tag elsewhere',
      () => git('tag', 'v98.76.54', git('commit-tree', 'HEAD^{tree}', '-m', 'x')),
      {},
      /another commit/,
    ],
    ['no date', () => {}, { date: 'today' }, /YYYY-MM-DD/],
  ])('is refused with %s, before anything is changed', (_what, prepare, changes, words) => {
    prepare();
    const before = git('status', '--porcelain');
    expect(() => releaseNow(changes)).toThrow(words);
    expect([git('status', '--porcelain'), git('log', '-1', '--format=%s')]).toEqual([before, 'Begin']);
  });
});

describe('the tags of an image', () => {
  it('are the version and its line', () => {
    expect(imageTags('a/fermata', '1.4.2')).toEqual(['a/fermata:1.4.2', 'a/fermata:1.4']);
  });
  it('are the version alone before a release', () => {
    expect(imageTags('a/fermata', '1.4.0-rc.1')).toEqual(['a/fermata:1.4.0-rc.1']);
  });
});
