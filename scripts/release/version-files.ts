/** Every place that names the version of a release, and how each is set. Pure: texts in, texts out. */
import { releaseChangelog } from './changelog.ts';

interface VersionPlace {
  readonly path: string;
  /** Around the version, which is its only group; it must be there exactly `times`. */
  readonly pattern: RegExp;
  readonly times: number;
}

const version = '(\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?)';
const place = (path: string, before: string, after = '', times = 1): VersionPlace => ({
  path,
  pattern: new RegExp(`(?<=${before})${version}(?=${after})`, 'gm'),
  times,
});

export const versionPlaces: readonly VersionPlace[] = [
  place('package.json', '^ {2}"version": "', '",$'),
  // Its own, and that of the package at its root: both before any other package.
  place('package-lock.json', '^ {2}"version": "', '",$'),
  place('package-lock.json', '^ {4}"": \\{\\n {6}"name": "fermata",\\n {6}"version": "', '",$'),
  place('docker/helm/fermata/Chart.yaml', '^(?:version|appVersion): ', '$', 2),
  place('docker/helm/examples/temporal-cloud.yaml', '^ {2}buildId: ', '$'),
  place('docker/compose.yaml', 'image: \\$\\{IMAGE:-fermata:', '\\}$'),
  place('docker/compose.yaml', 'args: \\{ VERSION: ', ' \\}$'),
  place('docker/.env.example', '^#IMAGE=fermata:', '$'),
  place('docker/Dockerfile', '^ARG VERSION=', '$'),
  place('server.json', '^ {2}"version": "', '",$'),
  place('server.json', '"identifier": "[^":]+:', '",$'),
];

export const changelogPath = 'CHANGELOG.md';

/** Paths that a release changes by itself. */
export const releasedPaths: readonly string[] = [
  ...new Set([...versionPlaces.map(({ path }) => path), changelogPath]),
];

/** Three numbers, with what comes before a release after a hyphen, as npm has it. */
export function isVersion(text: string): boolean {
  return /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/.test(text);
}

/** @returns less than 0 when `a` comes before `b`; a version with a hyphen comes before the one without. */
export function compareVersions(a: string, b: string): number {
  const [aNumbers, aBefore] = partsOf(a);
  const [bNumbers, bBefore] = partsOf(b);
  for (const [index, number] of aNumbers.entries()) {
    const difference = number - (bNumbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (aBefore === bBefore) return 0;
  if (aBefore === '' || bBefore === '') return aBefore === '' ? 1 : -1;
  return aBefore.localeCompare(bBefore, 'en', { numeric: true });
}

function partsOf(text: string): readonly [readonly number[], string] {
  const hyphen = text.indexOf('-');
  const core = hyphen < 0 ? text : text.slice(0, hyphen);
  return [core.split('.').map(Number), hyphen < 0 ? '' : text.slice(hyphen + 1)];
}

/** Versions that the files name now, by path, in order. */
export function versionsIn(read: (path: string) => string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { path, pattern, times } of versionPlaces) {
    const here = read(path).match(pattern) ?? [];
    if (here.length !== times) {
      throw new Error(
        `${path}: the version is expected ${times} times as ${pattern.source}, found ${here.length}`,
      );
    }
    found.set(path, [...(found.get(path) ?? []), ...here]);
  }
  return found;
}

/**
 * @returns texts of the files that change, by path; none when all is as it shall be.
 * @throws Error when a place is not as it is known here, or nothing is unreleased.
 */
export function releasedFiles(
  next: string,
  date: string,
  read: (path: string) => string,
): ReadonlyMap<string, string> {
  versionsIn(read);
  const changed = new Map<string, string>();
  const textOf = (path: string): string => changed.get(path) ?? read(path);
  for (const { path, pattern } of versionPlaces) {
    const text = textOf(path).replaceAll(pattern, next);
    if (text !== textOf(path)) changed.set(path, text);
  }
  const changelog = releaseChangelog(read(changelogPath), next, date);
  if (changelog !== read(changelogPath)) changed.set(changelogPath, changelog);
  return changed;
}
