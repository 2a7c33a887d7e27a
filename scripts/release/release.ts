/**
 * A release, step by step. Each step looks first whether it is done, so that one that was broken off goes on where
 * it was; nothing leaves this machine: what has to be pushed is told at the end. A dry run tells all and changes
 * nothing.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions, isVersion, releasedFiles, releasedPaths, versionsIn } from './version-files.ts';

export interface ReleaseOptions {
  readonly version: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly dryRun: boolean;
  /** Name of the image without its tag, such as `registry.example.com/fermata`. */
  readonly image: string;
  readonly branch: string;
}

export interface ReleaseDeps {
  readonly root: string;
  readonly say: (line: string) => void;
  /** Runs a program in the checkout. @returns null: it could not be started. */
  readonly run: (
    command: string,
    args: readonly string[],
  ) => { readonly code: number; readonly output: string } | null;
}

/** It cannot go on; its message says why and what to do. */
export class ReleaseFault extends Error {
  override readonly name = 'ReleaseFault';
}

interface Step {
  readonly what: string;
  /** Whether nothing is left to do. */
  readonly done: () => boolean;
  readonly act: () => void;
}

/** @throws ReleaseFault before anything is changed, or where a step fails. */
export function release(options: ReleaseOptions, deps: ReleaseDeps): void {
  checkFirst(options, deps);
  for (const { what, done, act } of stepsOf(options, deps)) {
    if (done()) {
      deps.say(`done   ${what}`);
      continue;
    }
    deps.say(`${options.dryRun ? 'would  ' : 'now    '}${what}`);
    if (!options.dryRun) act();
  }
  for (const line of afterwards(options, deps)) deps.say(line);
}

function read({ root }: ReleaseDeps, path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function git(deps: ReleaseDeps, ...args: string[]): string {
  const done = deps.run('git', args);
  if (done === null || done.code !== 0)
    throw new ReleaseFault(`git ${args.join(' ')}: ${done?.output.trim() ?? ''}`);
  return done.output.trim();
}

function checkFirst({ version, date, branch }: ReleaseOptions, deps: ReleaseDeps): void {
  if (!isVersion(version))
    throw new ReleaseFault(`'${version}' is no version; give three numbers, such as 0.1.0`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw new ReleaseFault(`'${date}' is no date; give YYYY-MM-DD`);
  const here = git(deps, 'rev-parse', '--abbrev-ref', 'HEAD');
  if (here !== branch)
    throw new ReleaseFault(`a release is made on ${branch}, and this is ${here} (--branch)`);
  const current = currentVersion(deps);
  if (compareVersions(version, current) < 0)
    throw new ReleaseFault(`${version} comes before ${current}, which this is`);
  const foreign = changedPaths(deps).filter((path) => !isReleased(path, version));
  if (foreign.length > 0) {
    throw new ReleaseFault(`the tree is not clean; commit or undo first: ${foreign.slice(0, 10).join(', ')}`);
  }
  const tag = tagged(deps, version);
  if (tag !== null && tag !== git(deps, 'rev-parse', 'HEAD')) {
    throw new ReleaseFault(`v${version} is a tag of another commit: a version is released once`);
  }
  // What is not as it is known here is told before anything is changed.
  releasedFiles(version, date, (path) => read(deps, path));
}

/** @throws ReleaseFault when the files do not agree. */
function currentVersion(deps: ReleaseDeps): string {
  const found = versionsIn((path) => read(deps, path));
  const all = [...found.values()].flat();
  const [first = ''] = found.get('package.json') ?? [];
  // A release that was broken off has changed some of them: those name two versions.
  if (new Set(all).size > 2) {
    throw new ReleaseFault(
      `the files name several versions: ${[...found].map(([path, versions]) => `${path} ${versions.join(', ')}`).join('; ')}`,
    );
  }
  return first;
}

function changedPaths(deps: ReleaseDeps): readonly string[] {
  const done = deps.run('git', ['status', '--porcelain', '-z']);
  if (done === null || done.code !== 0)
    throw new ReleaseFault(`git status: ${done?.output ?? 'cannot be started'}`);
  return done.output
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.slice(3));
}

function historiesOf(version: string): string {
  return `test/fixtures/histories/${version}`;
}

function isReleased(path: string, version: string): boolean {
  return releasedPaths.includes(path) || path.startsWith(`${historiesOf(version)}/`);
}

function tagged(deps: ReleaseDeps, version: string): string | null {
  const done = deps.run('git', ['rev-parse', '--verify', '--quiet', `refs/tags/v${version}^{commit}`]);
  return done === null || done.code !== 0 ? null : done.output.trim();
}

function stepsOf({ version, date, image }: ReleaseOptions, deps: ReleaseDeps): readonly Step[] {
  const files = (): ReadonlyMap<string, string> => releasedFiles(version, date, (path) => read(deps, path));
  const must = (command: string, ...args: string[]): void => {
    const done = deps.run(command, args);
    if (done?.code !== 0)
      throw new ReleaseFault(`${[command, ...args].join(' ')}: ${done?.output.trim() ?? 'not there'}`);
  };
  const changed = [...files().keys()];
  return [
    {
      what: `set the version ${version}${changed.length === 0 ? '' : ` in ${changed.join(', ')}`}`,
      done: () => files().size === 0,
      act: () => {
        for (const [path, text] of files()) writeFileSync(join(deps.root, path), text);
      },
    },
    {
      what: `record the histories of ${version}, which later builds must replay (some minutes)`,
      done: () => existsSync(join(deps.root, historiesOf(version))),
      act: () => must('node', '--import', 'tsx', 'scripts/record-histories.ts'),
    },
    {
      what: `commit "Release ${version}"`,
      done: () => files().size === 0 && changedPaths(deps).length === 0 && isCommitted(deps, version),
      act: () => {
        must('git', 'add', '--', ...releasedPaths, historiesOf(version));
        must(
          'git',
          'commit',
          '--quiet',
          '-m',
          `Release ${version}`,
          '--',
          ...releasedPaths,
          historiesOf(version),
        );
      },
    },
    {
      what: `tag v${version}`,
      done: () => tagged(deps, version) !== null,
      act: () => must('git', 'tag', '--annotate', `v${version}`, '-m', `fermata ${version}`),
    },
    imageStep(version, image, deps, must),
  ];
}

/** Whether the version that is committed is this one. */
function isCommitted(deps: ReleaseDeps, version: string): boolean {
  return git(deps, 'show', 'HEAD:package.json').includes(`"version": "${version}"`);
}

export function imageTags(image: string, version: string): readonly string[] {
  const [major = '', minor = ''] = version.split('.');
  // What is not a release yet is nobody's newest.
  return version.includes('-')
    ? [`${image}:${version}`]
    : [`${image}:${version}`, `${image}:${major}.${minor}`];
}

function imageStep(
  version: string,
  image: string,
  deps: ReleaseDeps,
  must: (command: string, ...args: string[]) => void,
): Step {
  const revision = tagged(deps, version) ?? 'HEAD';
  const tags = imageTags(image, version).flatMap((tag) => ['--tag', tag]);
  const args = ['build', '--file', 'docker/Dockerfile', '--build-arg', `VERSION=${version}`].concat([
    '--build-arg',
    `REVISION=${revision}`,
    ...tags,
    '.',
  ]);
  const engine = deps.run('docker', ['info'])?.code === 0;
  const command = `docker ${args.join(' ')}`;
  return {
    what: engine ? command : `without a container engine, elsewhere: ${command}`,
    done: () => engine && deps.run('docker', ['image', 'inspect', `${image}:${version}`])?.code === 0,
    act: () => {
      if (engine) must('docker', ...args);
    },
  };
}

/** What is left for a person. */
function afterwards({ version, image, branch }: ReleaseOptions, deps: ReleaseDeps): readonly string[] {
  const placeholders = ['server.json', 'docker/Dockerfile'].filter((path) =>
    read(deps, path).includes('com.example'),
  );
  return [
    '',
    'Next:',
    '  npm test && npm run test:chart && npm run test:image     what the tag stands for holds',
    `  git push origin ${branch} v${version}`,
    ...(image.includes('example.com/')
      ? ['  the image is not pushed: its name is an example; run this again with --image NAME']
      : imageTags(image, version).map((tag) => `  docker push ${tag}`)),
    `  helm package docker/helm/fermata && helm push fermata-${version}.tgz oci://...`,
    placeholders.length === 0
      ? '  mcp-publisher publish                                    server.json, to the MCP registry'
      : `  server.json is not published: put a name that is yours for com.example, and the image's, into ${placeholders.join(' and ')}`,
    `  docs/upgrading.md tells what changes for those who run ${version}'s predecessor: is it true?`,
  ];
}
