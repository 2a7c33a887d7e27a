/** What fermata works with and outlives every restart: engines, a tool server, and one embedded Temporal. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Closable } from '../../cli/close-in-reverse.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { ensureTemporalBinary } from '../../cli/setup/temporal-binary.ts';
import { startTemporalServer, type TemporalServer } from '../../cli/temporal-server.ts';
import { startSimEngine, type SimEngine, type SimEngineOptions } from '../../testkit/sim-engine/host.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';
import { toolsDir } from '../site/work-dir.ts';

export interface OutsideOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: Progress;
  readonly engine?: SimEngineOptions;
  /** Turns that one engine is given at once. */
  readonly placesOfEngine: number;
  /** Of the tool server. */
  readonly toolDelayScale: number;
}

export interface Outside {
  readonly engines: readonly SimEngine[];
  readonly model: string;
  readonly tools: ToolServer;
  readonly temporal: TemporalServer;
  readonly temporalBinary: string;
  /** Of a configuration that names all of them. */
  readonly configPath: string;
}

const engineCount = 2;
const keptRequests = 4_000;

/** @param running what is started is added to it, also when a later part fails. */
export async function startOutside(
  { environment, progress, engine, placesOfEngine, toolDelayScale }: OutsideOptions,
  host: string,
  stateDir: string,
  running: Closable[],
): Promise<Outside> {
  const keepRunning = <T extends Closable>(part: T): T => {
    running.push(part);
    return part;
  };
  const temporalBinary = await ensureTemporalBinary(toolsDir, environment['PATH'] ?? '', progress);
  const tools = keepRunning(await startToolServer({ delayScale: toolDelayScale }));
  const engines: SimEngine[] = [];
  for (let count = 0; count < engineCount; count += 1)
    engines.push(keepRunning(await startSimEngine({ maxRecords: keptRequests, ...engine })));
  const config = {
    pool: engines.map(({ url }, index) => ({
      id: `sim-${index}`,
      url,
      engine: 'vllm',
      maxConcurrent: placesOfEngine,
    })),
    tools: { mcpServers: { desk: { url: tools.url } } },
  };
  const configPath = join(stateDir, 'config.yaml');
  // JSON is YAML.
  await writeFile(configPath, JSON.stringify(config));
  const databaseFile = join(stateDir, 'temporal.db');
  const temporal = keepRunning(
    await startTemporalServer({ binary: temporalBinary, host, port: 0, uiPort: null, databaseFile }),
  );
  return { engines, model: engines[0]?.model ?? '', tools, temporal, temporalBinary, configPath };
}
