/**
 * What long runs are measured on: fermata's services with a Temporal server and a database of their own,
 * over an engine and a tool server that take no time. Everything is new and goes at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { startStack } from '../../cli/embedded-stack.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { startSimEngine } from '../../testkit/sim-engine/host.ts';
import { startToolServer } from '../../testkit/tool-server/host.ts';
import { connectModern, type ToolClient } from '../mcp-clients.ts';
import { bringBundle } from '../site/known-bundle.ts';

export interface Site {
  readonly client: ToolClient;
  readonly temporal: Client;
  close(): Promise<void>;
}

const root = resolve(import.meta.dirname, '..', '..');

/** Room for a transcript at its bound, and steps that take no time. */
const engine = { totalBlocks: 200_000, maxContextTokens: 2_000_000, chunkTokens: 1_000_000 };

const freePorts = Object.fromEntries(
  ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'].map((name) => [
    `FERMATA_${name}_PORT`,
    '0',
  ]),
);

/** @throws SetupFault when a part cannot be had or started; then nothing is left running. */
export async function startSite(progress: (line: string) => void): Promise<Site> {
  const running: Closable[] = [];
  const keep = <T extends Closable>(part: T): T => {
    running.push(part);
    return part;
  };
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => await (closing ??= closeInReverse(running));
  try {
    const stateDir = await mkdtemp(join(tmpdir(), 'fermata-long-runs-'));
    keep({ close: async () => await rm(stateDir, { recursive: true, force: true }) });
    await bringBundle(stateDir);
    const model = keep(await startSimEngine({ timeScale: 0, engine, maxRecords: 10 }));
    const tools = keep(await startToolServer({ delayScale: 0 }));
    const stack = keep(
      await startStack({
        settings: parseSettings({ ...freePorts, FERMATA_STATE_DIR: stateDir }),
        toolsDir: join(root, '.fermata'),
        environment: { PATH: process.env['PATH'] },
        temporal: null,
        config: configFileSchema.parse({
          pool: [{ id: 'sim', url: model.url, engine: 'vllm' }],
          tools: { mcpServers: { desk: { url: tools.url } } },
        }),
        engine: 'simulated',
        separate: false,
        logger: pino({ level: 'silent' }),
        progress,
      }),
    );
    const connection = keep(await Connection.connect({ address: stack.temporal.address }));
    return {
      temporal: new Client({ connection, namespace: stack.temporal.namespace }),
      client: keep(await connectModern(stack.mcpUrl)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
