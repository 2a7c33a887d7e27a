/** What the end-to-end tests of this folder stand on: Temporal, a worker, an mcp-server, and runs whose end is in the test's hand. */
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import {
  createMcpServer,
  type McpServerConfig,
  type McpServerHandle,
} from '../../mcp-server/create-mcp-server.ts';
import { quietTemporal, startScriptedWorker } from './scripted-worker.ts';

export interface Stack {
  readonly temporal: Client;
  readonly server: McpServerHandle;
  readonly mcpUrl: string;
  readonly config: McpServerConfig;
  /** Another server on the same runs. */
  startServer(over?: Partial<McpServerConfig>): Promise<McpServerHandle>;
  /** A task that ends at once with `answer`. */
  saying(answer: string): string;
  /** A task that waits for `release` and ends with `answer`. */
  waiting(answer: string): string;
  release(handle: unknown): Promise<void>;
  /** Sum of all samples of a metric of the server. */
  metric(name: string, server?: McpServerHandle): Promise<number>;
  close(): Promise<void>;
}

const logger = pino({ level: 'silent' });

export async function startStack(address: string, over: Partial<McpServerConfig> = {}): Promise<Stack> {
  quietTemporal();
  const worker = await startScriptedWorker(address);
  const connection = await Connection.connect({ address });
  const temporal = new Client({ connection });
  const config: McpServerConfig = {
    host: '127.0.0.1',
    port: 0,
    temporal: { address, namespace: 'default' },
    taskQueue: worker.taskQueue,
    proxyUrl: 'http://127.0.0.1:9',
    progressMs: 50,
    ...over,
  };
  const servers: McpServerHandle[] = [];
  const startServer = async (more: Partial<McpServerConfig> = {}): Promise<McpServerHandle> => {
    const started = await createMcpServer({ ...config, ...more }, { logger });
    servers.push(started);
    return started;
  };
  const server = await startServer();
  return {
    temporal,
    server,
    mcpUrl: `${server.url}/mcp`,
    config,
    startServer,
    saying: (answer) => `say ${answer}`,
    waiting: (answer) => `wait ${answer}`,
    async release(handle) {
      await temporal.workflow.getHandle(String(handle)).signal('finish');
    },
    metric: async (name, of = server) => await readMetric(of, name),
    async close() {
      await Promise.all(servers.map(async (one) => await one.close()));
      await connection.close();
      await worker.close();
    },
  };
}

async function readMetric(server: McpServerHandle, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
