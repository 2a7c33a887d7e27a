/** A scheduler as a real process on a port of its own, two scripted engines, and proxies of the test's choice. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService, type ServiceProcess } from '../service-process.ts';
import { closeAfterTest } from './stack.ts';
import { startScriptedEngine, type ScriptedEngine } from './scripted-engine.ts';

export interface SchedulerProcess {
  readonly url: string;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts a new one, which knows nothing, on the same port. */
  start(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

export async function startEngines(count: number): Promise<ScriptedEngine[]> {
  const engines: ScriptedEngine[] = [];
  for (let index = 0; index < count; index += 1) engines.push(await startScriptedEngine());
  closeAfterTest(async () => {
    for (const engine of engines) await engine.close();
  });
  return engines;
}

/** @param pool a replica for each engine, as in the configuration file. */
export async function startSchedulerProcess(
  pool: readonly Readonly<Record<string, unknown>>[],
  policy: Readonly<Record<string, unknown>> = {},
): Promise<SchedulerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-scheduler-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const config = join(folder, 'fermata.yaml');
  await writeFile(config, JSON.stringify({ pool, policy }));
  const port = await freePort();
  const start = async (): Promise<ServiceProcess> =>
    await startService('scheduler/host/main.ts', {
      FERMATA_CONFIG: config,
      FERMATA_SCHEDULER_PORT: String(port),
    });
  let running = await start();
  closeAfterTest(() => running.kill());
  return {
    url: running.url,
    kill: () => running.kill(),
    start: async () => {
      running = await start();
    },
  };
}
