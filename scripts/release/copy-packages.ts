/**
 * Copies the packages of production from this checkout into an app's folder, without what no process reads:
 * `node --import tsx scripts/release/copy-packages.ts FOLDER`. Everything is as `npm ci` laid it, versions
 * and digests of the lock file included; licences stay.
 */
import { existsSync, readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { arch } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { sizeOf } from './build-app.ts';
import { lockSchema, productionPackages } from './production-packages.ts';

const root = resolve(import.meta.dirname, '..', '..');

/** Types, source maps, tests' and compilers' input. */
const unread = /\.(d\.[cm]?ts|[cm]?ts|map|md|markdown|rs|proto|flow)$|(^|\/)(Cargo\.(lock|toml)|\.github)$/i;
const licence = /(licen[cs]e|notice|copying)/i;
/** Temporal's native core comes for five platforms, and as the source that it is built from. */
const coreBridge = 'node_modules/@temporalio/core-bridge';
const coreSources = ['sdk-core', 'src', 'bridge-macros', 'ts'].map((name) => `${coreBridge}/${name}`);
const platforms: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** @throws Error on a processor for which Temporal has no native core. */
export async function copyPackages(target: string): Promise<void> {
  const platform = platforms[arch()];
  if (platform === undefined) throw new Error(`there is no native core of Temporal for ${arch()}`);
  const lock = lockSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  const paths = productionPackages(lock).filter((path) => existsSync(join(root, path)));
  for (const path of paths) {
    await cp(join(root, path), join(target, path), {
      recursive: true,
      // A package within it comes by itself, if it is needed.
      filter: (source) => isRead(relative(root, source), path, `${platform}-unknown-linux-gnu`),
    });
  }
}

function isRead(source: string, packagePath: string, platform: string): boolean {
  if (source !== packagePath && source.slice(packagePath.length).includes('/node_modules')) return false;
  if (coreSources.some((folder) => source === folder || source.startsWith(`${folder}/`))) return false;
  const release = source.startsWith(`${coreBridge}/releases/`) ? source.split('/')[4] : undefined;
  if (release !== undefined && release !== platform) return false;
  const name = basename(source);
  return licence.test(name) || !unread.test(name);
}

if (process.argv[1] === import.meta.filename) {
  const [target] = process.argv.slice(2);
  if (target === undefined) {
    console.error('usage: node --import tsx scripts/release/copy-packages.ts FOLDER');
    process.exit(2);
  }
  try {
    await copyPackages(resolve(target));
    console.log(
      `${target}: ${((await sizeOf(resolve(target, 'node_modules'))) / 1e6).toFixed(1)} MB of packages`,
    );
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
