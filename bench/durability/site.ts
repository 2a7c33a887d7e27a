/**
 * What the durability bench stands on: engines and a tool server that outlive every kill and tell what reached
 * them, and fermata's parts as processes of their own, in a folder and on ports of their own.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { ensureTemporalBinary } from '../../cli/setup/temporal-binary.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';
import { choosePorts } from '../site/free-ports.ts';
import { bringBundle } from '../site/known-bundle.ts';
import { partNames, type PartName } from './kill-plan.ts';
import { createParts, type Part } from './parts.ts';

export interface Site {
  readonly engines: readonly SimEngine[];
  readonly tools: ToolServer;
  readonly parts: readonly Part[];
  readonly mcpUrl: string;
  readonly temporalAddress: string;
  readonly stateDir: string;
  /** @param keep leaves the folder with the logs and Temporal's database. */
  close(keep: boolean): Promise<void>;
}

const host = '127.0.0.1';
/** So that turns are held now and then, and admitted within seconds. */
const placesOfEngine = 12;

export async function startSite(
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
): Promise<Site> {
  const stateDir = await mkdtemp(join(tmpdir(), 'fermata-durability-'));
  await mkdir(join(stateDir, 'logs'));
  await bringBundle(stateDir);
  const running: Closable[] = [];
  const keepRunning = <T extends Closable>(part: T): T => {
    running.push(part);
    return part;
  };
  const close = async (keep: boolean): Promise<void> => {
    await closeInReverse(running);
    if (!keep) await rm(stateDir, { recursive: true, force: true });
  };
  try {
    const temporalBinary = await ensureTemporalBinary(
      resolve(import.meta.dirname, '..', '..', '.fermata'),
      environment['PATH'] ?? '',
      progress,
    );
    const tools = keepRunning(await startToolServer());
    const engines: SimEngine[] = [];
    for (let count = 0; count < 2; count += 1)
      engines.push(keepRunning(await startSimEngine({ maxRecords: 4_000 })));
    const config = configFileSchema.parse({
      pool: engines.map((engine, index) => ({
        id: `sim-${index}`,
        url: engine.url,
        engine: 'vllm',
        maxConcurrent: placesOfEngine,
      })),
      tools: { mcpServers: { desk: { url: tools.url } } },
    });
    const configPath = join(stateDir, 'config.yaml');
    await writeFile(configPath, JSON.stringify(config));
    const chosen = await choosePorts(host, partNames.length);
    const ports = Object.fromEntries(partNames.map((name, index) => [name, chosen[index]])) as Record<
      PartName,
      number
    >;
    const parts = createParts({
      stateDir,
      configPath,
      temporalBinary,
      ports,
      taskQueue: 'durability',
      environment,
    });
    for (const part of parts) {
      progress(`starting ${part.name} ...`);
      await part.start();
      keepRunning(part);
    }
    return {
      engines,
      tools,
      parts,
      mcpUrl: `http://${host}:${ports['mcp-server']}/mcp`,
      temporalAddress: `${host}:${ports.temporal}`,
      stateDir,
      close,
    };
  } catch (error) {
    await close(true);
    throw error;
  }
}
