/**
 * Where the Chromium of the page's tests comes from: one that is installed, else the one that the npm
 * package `@sparticuz/chromium` carries. That package wants a newer Node.js than fermata, so it is unpacked
 * by one of npm, in a folder of its own. fermata itself starts no browser.
 */
import { accessSync, constants } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand } from './run-command.ts';
import { SetupFault, type Progress } from './setup-fault.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const packages = ['node@24.21.0', '@sparticuz/chromium@153.0.0'];
const installLimitMs = 300_000;
const unpackLimitMs = 60_000;
const startLimitMs = 20_000;

/** @param environment `CHROME_PATH` names one that is to be used. @returns null: there is none yet. */
export function findChromium(
  stateDir: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const given = environment['CHROME_PATH'] ?? '';
  const candidates = [
    ...(given === '' ? [] : [given]),
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
    fetchedPath(stateDir),
  ];
  return candidates.find(isProgram) ?? null;
}

/**
 * @returns the absolute path of a Chromium that starts.
 * @throws SetupFault when none can be had.
 */
export async function ensureChromium(
  stateDir: string,
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
): Promise<string> {
  const found = findChromium(stateDir, environment) ?? (await fetchChromium(stateDir, progress));
  const { code, output } = await runCommand(found, ['--version'], { timeoutMs: startLimitMs });
  if (code === 0) return found;
  throw new SetupFault(
    `${found} does not start (${output.trim().split('\n').at(-1) ?? ''}); install Chromium, such as with apt-get install chromium`,
  );
}

function fetchedPath(stateDir: string): string {
  return join(stateDir, 'tools', 'chromium-153.0.0', 'chromium');
}

async function fetchChromium(stateDir: string, progress: Progress): Promise<string> {
  progress('fetching Chromium for the tests of the page (about half a minute, once) ...');
  const target = fetchedPath(stateDir);
  await mkdir(join(target, '..'), { recursive: true });
  const work = await mkdtemp(join(stateDir, 'tools', 'chromium-'));
  try {
    await writeFile(join(work, 'package.json'), '{"private":true,"type":"module"}');
    await writeFile(join(work, 'unpack.js'), unpackScript);
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', work, ...packages], installLimitMs);
    const node = join(work, 'node_modules', 'node', 'bin', 'node');
    const output = await run(node, [join(work, 'unpack.js')], unpackLimitMs);
    const unpacked = /^chromium at (.+)$/m.exec(output)?.[1] ?? '';
    // Beside its place first, so that nobody finds half of it.
    await copyFile(unpacked, `${target}.new`);
    await rename(`${target}.new`, target);
    return target;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const unpackScript =
  "import chromium from '@sparticuz/chromium';\nconsole.log(`chromium at ${await chromium.executablePath()}`);\n";

async function run(command: string, args: readonly string[], timeoutMs: number): Promise<string> {
  const { code, output } = await runCommand(command, args, { timeoutMs });
  if (code === 0) return output;
  const said = output.trim().split('\n').at(-1) ?? '';
  throw new SetupFault(`Chromium could not be fetched (${said}); install one, or name one with CHROME_PATH`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
