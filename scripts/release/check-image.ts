/**
 * `npm run test:image [-- --compose-temporal] [--node PATH] [--json FILE]`: what docker/Dockerfile would make, built
 * and started without a container engine (stage-image.ts): every service as the image's user from files that it may
 * not write, ready, healthy, one run from the command line to its answer, and each ended by SIGTERM within the grace
 * that docker/compose.yaml gives it. Prints what each takes to start and holds in memory. Temporal is the embedded
 * one, or with `--compose-temporal` the server on PostgreSQL as compose starts it (compose-temporal.ts).
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { findFreePort } from '../../cli/setup/free-port.ts';
import { ensureTemporalBinary } from '../../cli/setup/temporal-binary.ts';
import { startTemporalServer } from '../../cli/temporal-server.ts';
import { sizeOf } from './build-app.ts';
import { startComposeTemporal } from './compose-temporal.ts';
import { runStaged, stageImage, startStaged, type StagedImage, type StagedService } from './stage-image.ts';

const root = resolve(import.meta.dirname, '..', '..');
const host = '127.0.0.1';
const token = 'a-token-for-the-check-of-the-image';

interface Measured {
  readonly service: string;
  readonly readyMs: number;
  readonly residentMb: number;
  readonly peakMb: number;
  readonly stopMs: number;
}

interface Site {
  readonly image: StagedImage;
  readonly folder: string;
  readonly services: Map<string, StagedService>;
  readonly settings: Record<string, string>;
}

const serviceSchema = z.object({
  command: z.array(z.string()).default([]),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
});

async function composeServices(): Promise<Readonly<Record<string, z.infer<typeof serviceSchema>>>> {
  const text = await readFile(join(root, 'docker', 'compose.yaml'), 'utf8');
  return z.object({ services: z.record(z.string(), serviceSchema) }).parse(parse(text, { merge: true }))
    .services;
}

async function setUpCommand(): Promise<readonly string[]> {
  return (await composeServices())['temporal-setup']?.command ?? [];
}

const option = (name: string): string | undefined => {
  const place = process.argv.indexOf(name);
  return place < 0 ? undefined : process.argv[place + 1];
};
const say = (line: string): void => console.error(`image: ${line}`);

function must(holds: boolean, what: string, shown = ''): asserts holds {
  if (!holds) throw new Error(`${what}${shown === '' ? '' : `:\n${shown}`}`);
  say(what);
}

async function check(): Promise<object> {
  const node = option('--node') ?? process.execPath;
  const folder = await mkdtemp(join(tmpdir(), 'fermata-image-'));
  const services = new Map<string, StagedService>();
  const temporal = process.argv.includes('--compose-temporal')
    ? await startComposeTemporal(folder, say)
    : await startEmbeddedTemporal();
  try {
    const image = stageImage(folder, node);
    const appMb = (await sizeOf(image.app)) / 1e6;
    say(`${appMb.toFixed(1)} MB of files, as user ${image.user?.uid ?? 'of this process'}`);
    const site: Site = { image, folder, services, settings: await settingsOf(temporal.address) };
    await startAll(site);
    tryCommands(site);
    await tryPage(site);
    tryBundle(site);
    const measured = await stopAll(site);
    return { node: runNode(node), appMb: Math.round(appMb), services: measured };
  } finally {
    for (const { pid } of services.values()) kill(pid);
    await temporal.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function startEmbeddedTemporal(): Promise<{ readonly address: string; close(): Promise<void> }> {
  const binary = await ensureTemporalBinary(join(root, '.fermata'), process.env['PATH'] ?? '', say);
  return await startTemporalServer({ binary, host, port: 0, uiPort: null, databaseFile: null });
}

function runNode(node: string): string {
  return node === process.execPath ? process.version : node;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended, as it should.
  }
}

/** As docker/compose.yaml sets them, on loopback and free ports. */
async function settingsOf(temporalAddress: string): Promise<Record<string, string>> {
  const ports = await Promise.all([1, 2, 3, 4].map(async () => await findFreePort(host)));
  const [scheduler = 0, proxy = 0, worker = 0, mcp = 0] = ports;
  return {
    FERMATA_HOST: host,
    FERMATA_TOKEN: token,
    FERMATA_LOG_LEVEL: 'warn',
    FERMATA_SCHEDULER_PORT: String(scheduler),
    FERMATA_PROXY_PORT: String(proxy),
    FERMATA_WORKER_PORT: String(worker),
    FERMATA_MCP_PORT: String(mcp),
    FERMATA_SCHEDULER_URL: `http://${host}:${scheduler}`,
    FERMATA_PROXY_URL: `http://${host}:${proxy}`,
    FERMATA_MCP_URL: `http://${host}:${mcp}`,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: 'default',
  };
}

const readyPool = z.object({
  engines: z.array(z.object({ id: z.string(), url: z.string(), model: z.string() })),
  toolServer: z.object({ url: z.string() }),
});

async function startAll({ image, folder, services, settings }: Site): Promise<void> {
  const start = async (name: string, environment: Record<string, string>): Promise<StagedService> => {
    const service = await startStaged(image, [name], { cwd: folder, environment });
    services.set(name, service);
    return service;
  };
  const pool = await start('simulated-pool', {});
  const line =
    pool
      .output()
      .split('\n')
      .find((one) => one.startsWith('{')) ?? '';
  const { engines, toolServer } = readyPool.parse(JSON.parse(line));
  const config = {
    pool: engines.map(({ id, url, model }) => ({ id, url, engine: 'vllm', models: [model] })),
    tools: { mcpServers: { demo: { url: toolServer.url } } },
  };
  // JSON is YAML.
  await writeFile(join(folder, 'fermata.yaml'), JSON.stringify(config));
  for (const turn of ['first', 'second']) {
    const { code, output } = runStaged(image, await setUpCommand(), settings, folder);
    must(code === 0, `namespace and search attributes are set up, the ${turn} time`, output);
  }
  for (const name of ['scheduler', 'proxy', 'worker', 'mcp-server']) await start(name, settings);
  for (const name of services.keys()) {
    for (const args of [[name], [name, '--ready']]) {
      const { code, output } = runStaged(image, ['health', ...args], settings, folder);
      must(code === 0, `health ${args.join(' ')}`, output);
    }
  }
  const unknown = runStaged(image, ['health', 'nothing'], settings, folder);
  must(unknown.code === 1, 'health of what there is not: refused', unknown.output);
  const words = image.healthCheck.slice(image.entry.length);
  must(words.join(' ') === 'health', 'the check of the image asks for health', image.healthCheck.join(' '));
}

function tryCommands({ image, folder, settings }: Site): void {
  const version = runStaged(image, ['--version'], {}, folder);
  must(
    /^\d+\.\d+\.\d+\s*$/.test(version.output),
    `the command line: ${version.output.trim()}`,
    version.output,
  );
  const task =
    'Look up the weather. [[sim {"calls":[{"tool":"demo__lookup","arguments":{"query":"weather"}}]}]]';
  const done = runStaged(image, ['run', task, '--tools', 'demo__lookup', '--json'], settings, folder);
  must(done.code === 0, 'a run with a tool, to its answer', done.output);
  const page = runStaged(image, ['status', '--json'], settings, folder);
  must(page.code === 0 && page.output.includes('Completed'), 'its status is told', page.output);
}

/** It can only come from the image: what would build it is not there. */
async function tryPage({ services }: Site): Promise<void> {
  const response = await fetch(`${new URL(services.get('mcp-server')?.url ?? '').origin}/`);
  const body = await response.text();
  must(
    response.status === 200 && /<script[^>]+src=/.test(body),
    'the page is there',
    `${response.status} ${body}`,
  );
}

/** As a worker looks for it, and fails where it would have to be made. */
function tryBundle({ image, folder }: Site): void {
  const script = `
    const { keptBundle } = await import(process.argv[1]);
    const bundle = async () => { throw new Error('it is not there and would be made'); };
    const { codePath } = await keptBundle(process.env.FERMATA_STATE_DIR, { bundle });
    console.log(codePath);`;
  const args = ['--input-type=module', '-e', script, join(image.app, 'activities', 'kept-bundle.js')];
  const { code, output } = runStaged({ ...image, entry: [] }, args, {}, folder);
  must(code === 0 && output.includes('workflows-'), 'the bundle of the workflows is there', output);
}

async function stopAll({ image, services }: Site): Promise<Measured[]> {
  const compose = await composeServices();
  const measured: Measured[] = [];
  for (const [name, service] of [...services].toReversed()) {
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
    const mb = (field: string): number =>
      Math.round(Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 'NaN') / 1_024);
    const uid = /^Uid:\s+(\d+)/m.exec(status)?.[1];
    if (image.user !== null) must(uid === String(image.user.uid), `${name} runs as user ${uid}`);
    const { code, tookMs } = await service.stop();
    const graceMs = Number.parseInt(compose[name]?.stop_grace_period ?? '10', 10) * 1_000;
    must(
      code === 0 && tookMs < graceMs,
      `${name} ends in ${Math.round(tookMs)} ms`,
      `${code} ${service.output()}`,
    );
    measured.push({
      service: name,
      readyMs: Math.round(service.readyMs),
      residentMb: mb('VmRSS'),
      peakMb: mb('VmHWM'),
      stopMs: Math.round(tookMs),
    });
  }
  return measured.toReversed();
}

try {
  const report = await check();
  console.log(JSON.stringify(report, null, 2));
  const path = option('--json');
  if (path !== undefined) await writeFile(path, JSON.stringify(report, null, 2));
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
