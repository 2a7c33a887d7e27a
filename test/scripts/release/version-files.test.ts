import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { releaseChangelog } from '../../../scripts/release/changelog.ts';
import {
  compareVersions,
  isVersion,
  releasedFiles,
  releasedPaths,
  versionsIn,
} from '../../../scripts/release/version-files.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
/** Right after a release nothing is unreleased, and this holds all the same. */
const changelog = '# Changelog\n\n## [Unreleased]\n\n- A thing.\n\n## [0.0.1] - 2026-01-01\n\n- Older.\n';
const read = (path: string): string =>
  path === 'CHANGELOG.md' ? changelog : readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

describe('the places of the version', () => {
  it('are all there, and say the same', () => {
    const versions = [...versionsIn(read).values()].flat();
    expect(versions.length).toBeGreaterThan(10);
    expect(new Set(versions)).toEqual(new Set([version]));
  });

  it('are all changed by a release, and nothing beside them', () => {
    const changed = releasedFiles('98.76.54', '2030-01-02', read);
    expect([...changed.keys()].toSorted()).toEqual(releasedPaths.toSorted());
    for (const [path, text] of changed) {
      if (path === 'CHANGELOG.md') continue;
      const before = read(path).split('\n');
      const after = text.split('\n');
      const lines = after.filter((line, index) => line !== before[index]);
      expect(after).toHaveLength(before.length);
      for (const line of lines) expect(line).toContain('98.76.54');
    }
    const after = (path: string): string => changed.get(path) ?? read(path);
    expect(new Set([...versionsIn(after).values()].flat())).toEqual(new Set(['98.76.54']));
    // Once more changes nothing.
    expect(releasedFiles('98.76.54', '2030-01-02', after).size).toBe(0);
  });

  it('leave the packages of the lock file alone', () => {
    type Lock = { version: string; packages: Record<string, { version: string }> };
    const before = JSON.parse(read('package-lock.json')) as Lock;
    const text = releasedFiles('98.76.54', '2030-01-02', read).get('package-lock.json') ?? '';
    const after = JSON.parse(text) as Lock;
    const expected = { ...before, version: '98.76.54', packages: { ...before.packages } };
    expected.packages[''] = { ...before.packages[''], version: '98.76.54' };
    expect(after).toEqual(expected);
  });

  it('stop a release when one of them is not as it is known', () => {
    const moved = (path: string): string =>
      path === 'docker/compose.yaml' ? read(path).replaceAll('fermata:', 'somewhere/fermata:') : read(path);
    expect(() => releasedFiles('98.76.54', '2030-01-02', moved)).toThrow(/docker\/compose\.yaml/);
  });
});

describe('the changelog of a release', () => {
  const text =
    '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.1.0] - 2026-01-01\n\n- Older.\n';

  it('has what was unreleased under its version, and room for what comes', () => {
    expect(releaseChangelog(text, '0.2.0', '2026-11-30')).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-30\n\n### Added\n\n- A thing.\n\n## [0.1.0] - 2026-01-01\n\n- Older.\n',
    );
  });

  it('is left as it is when the version is there', () => {
    const released = releaseChangelog(text, '0.2.0', '2026-11-30');
    expect(releaseChangelog(released, '0.2.0', '2026-12-01')).toBe(released);
  });

  it('cannot be made of nothing', () => {
    const released = releaseChangelog(text, '0.2.0', '2026-11-30');
    expect(() => releaseChangelog(released, '0.3.0', '2026-12-01')).toThrow(/nothing is under/);
    expect(() => releaseChangelog('# Changelog\n', '0.3.0', '2026-12-01')).toThrow(/no section/);
  });
});

describe('versions', () => {
  it.each(['0.0.1', '1.2.3', '10.0.0-rc.1'])('%s is one', (text) => expect(isVersion(text)).toBe(true));
  it.each(['1.2', 'v1.2.3', '01.2.3', '1.2.3 ', '1.2.3+build', ''])("'%s' is none", (text) =>
    expect(isVersion(text)).toBe(false),
  );

  it('are in order, before their release too', () => {
    const ordered = ['0.9.9', '0.10.0-rc.1', '0.10.0-rc.2', '0.10.0-rc.10', '0.10.0', '0.10.1', '1.0.0'];
    for (const [index, a] of ordered.entries()) {
      for (const [other, b] of ordered.entries()) {
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(index - other)]);
      }
    }
  });
});
