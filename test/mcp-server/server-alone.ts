/** An mcp-server that reaches neither Temporal nor a proxy: for what it answers by itself. */
import { pino } from 'pino';
import {
  createMcpServer,
  type McpServerConfig,
  type McpServerHandle,
} from '../../mcp-server/create-mcp-server.ts';

export async function startServerAlone(over: Partial<McpServerConfig> = {}): Promise<McpServerHandle> {
  return await createMcpServer(
    {
      host: '127.0.0.1',
      port: 0,
      temporal: { address: '127.0.0.1:9', namespace: 'default' },
      temporalCallMs: 200,
      taskQueue: 'none',
      proxyUrl: 'http://127.0.0.1:9',
      ...over,
    },
    { logger: pino({ level: 'silent' }) },
  );
}
