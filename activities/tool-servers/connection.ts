/** Opens an MCP connection to one tool server, over its standard streams or HTTP. */
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';
import type { ToolServerConfig } from '../../contracts/config-file.ts';
import { createStdioTransport } from './stdio-transport.ts';

export interface Connection {
  readonly client: Client;
  /** True once it is not to be used for anything new. */
  closed: boolean;
  /** Calls that wait for an answer on it. */
  calls: number;
}

const connectTimeoutMs = 15_000;

/**
 * @param onListChanged also called when the connection ends.
 * @param signal gives the opening up.
 * @throws Error when the server does not start or answer.
 */
export async function openConnection(
  name: string,
  config: ToolServerConfig,
  logger: Logger,
  onListChanged: () => void,
  signal: AbortSignal,
): Promise<Connection> {
  const transport = transportOf(name, config, logger);
  const client = new Client(
    { name: 'fermata', version: '1' },
    {
      // A local process is asked in the way that every server knows; over HTTP the probe costs one request.
      ...('url' in config ? { versionNegotiation: { mode: 'auto' } } : {}),
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
    },
  );
  Object.assign(client, {
    onerror: (error: Error) => logger.debug({ toolServer: name, error: error.message }, 'tool server error'),
  });
  try {
    await client.connect(transport, { timeout: connectTimeoutMs, signal });
  } catch (error) {
    await transport.close().catch(() => undefined);
    throw error;
  }
  const connection: Connection = { client, closed: false, calls: 0 };
  Object.assign(client, {
    onclose() {
      connection.closed = true;
      onListChanged();
    },
  });
  return connection;
}

function transportOf(name: string, config: ToolServerConfig, logger: Logger): Transport {
  if ('url' in config) {
    return new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers: config.headers },
    });
  }
  const { command, args, cwd } = config;
  let noiseLines = 0;
  return createStdioTransport(
    { command, args, cwd, env: { ...getDefaultEnvironment(), ...config.env } },
    (line) => {
      noiseLines += 1;
      if (noiseLines <= 10)
        logger.debug({ toolServer: name, line: line.slice(0, 500) }, 'tool server output');
    },
  );
}
