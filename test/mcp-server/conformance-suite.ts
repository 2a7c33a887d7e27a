/**
 * The public conformance suite of the protocol, `@modelcontextprotocol/conformance`, at exact versions: installed
 * once from the registry into a private folder, run one scenario at a time under a Node that it can run on, which
 * is newer than ours may be. It reads what the suite has found and judges nothing.
 */
import { mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { runBounded, type Ended } from '../clients/bounded-process.ts';
import { npmInstall } from '../clients/pinned-clients.ts';

/** `stable` is the newest release; `next` the first line that knows 2026-07-28 and the extensions. */
export const suiteVersions = { stable: '0.1.16', next: '0.2.0-alpha.12' } as const;
export type SuiteName = keyof typeof suiteVersions;

const nodeVersion = '24.11.0';
/** The suite needs it; a newer one of ours will do. */
const leastNodeMajor = 22;
const packageName = '@modelcontextprotocol/conformance';
const scenarioMs = 60_000;

const checkSchema = z.object({
  id: z.string(),
  status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
  errorMessage: z.string().optional(),
});
export type Check = z.infer<typeof checkSchema>;

export interface ConformanceSuite {
  /** Names of all scenarios that it has for servers. */
  scenarios(suite: SuiteName): Promise<string[]>;
  /** @param version of the protocol; absent: the suite's choice. */
  run(suite: SuiteName, scenario: string, url: string, version?: string): Promise<Check[]>;
}

function nodePackage(): { readonly name: string; readonly program: string } | null {
  if (Number(process.versions.node.split('.')[0]) >= leastNodeMajor) return null;
  const { platform, arch } = process;
  if (platform === 'win32') return { name: `node-win-${arch}`, program: 'bin/node.exe' };
  const prefix = platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node';
  return { name: `${prefix}-${platform}-${arch}`, program: 'bin/node' };
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** @throws Error that says what npm said, or that it has not ended in time. */
async function ensureInstalled(folder: string, specs: readonly string[], limitMs: number): Promise<void> {
  if (await isThere(folder)) return;
  const unfinished = `${folder}-unfinished-${process.pid}`;
  const print = (line: string): boolean => process.stderr.write(`${line}\n`);
  print(`installing ${specs.join(' ')}, this once, into ${folder}`);
  const late = new AbortController();
  const words = `npm has not installed ${specs.join(' ')} after ${limitMs / 1_000} s; this test needs the npm registry once`;
  const limit = setTimeout(() => late.abort(new Error(words)), limitMs);
  try {
    await npmInstall(unfinished, 'conformance', specs, {
      stateDir: folder,
      environment: process.env,
      signal: late.signal,
      print,
    });
    await rename(unfinished, folder).catch(async (error: unknown) => {
      // Another test run was faster.
      if (!(await isThere(folder))) throw error;
    });
  } finally {
    clearTimeout(limit);
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * @param installMs most milliseconds for the installation, where it is needed.
 * @throws Error that says why it could not be installed.
 */
export async function conformanceSuite(installMs: number): Promise<ConformanceSuite> {
  const node = nodePackage();
  const specs = [
    ...Object.entries(suiteVersions).map(([name, version]) => `${name}@npm:${packageName}@${version}`),
    ...(node === null ? [] : [`${node.name}@${nodeVersion}`]),
  ];
  const clients = resolve(import.meta.dirname, '..', '..', '.fermata', 'clients');
  const folder = join(clients, `conformance-${Object.values(suiteVersions).join('-')}`);
  await ensureInstalled(folder, specs, installMs);
  const modules = join(folder, 'node_modules');
  const program = node === null ? process.execPath : join(modules, node.name, node.program);
  const start = async (suite: SuiteName, args: readonly string[]): Promise<Ended> => {
    const ended = await runBounded(program, [join(modules, suite, 'dist', 'index.js'), ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, NO_COLOR: '1' },
      timeoutMs: scenarioMs,
      signal: new AbortController().signal,
    });
    if (ended.timedOut) throw new Error(`${args.join(' ')}: not done after ${scenarioMs / 1_000} s`);
    return ended;
  };
  return {
    async scenarios(suite) {
      const { stdout } = await start(suite, ['list']);
      const [, listed = ''] = /Server scenarios.*?\n([\s\S]*?)\n\s*\n/.exec(stdout) ?? [];
      return [...listed.matchAll(/^\s*- (\S+)/gm)].map(([, name = '']) => name);
    },
    async run(suite, scenario, url, version) {
      const output = await mkdtemp(join(tmpdir(), 'fermata-conformance-'));
      try {
        const at = version === undefined ? [] : ['--spec-version', version];
        const args = ['server', '--url', url, '--scenario', scenario, ...at, '-o', output];
        const ended = await start(suite, args);
        const files = await readdir(output, { recursive: true });
        const [file] = files.filter((name) => name.endsWith('checks.json'));
        if (file === undefined) throw new Error(`no checks:\n${ended.stdout}\n${ended.stderr}`);
        return z.array(checkSchema).parse(JSON.parse(await readFile(join(output, file), 'utf8')));
      } finally {
        await rm(output, { recursive: true, force: true });
      }
    },
  };
}
