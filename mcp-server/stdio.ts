/**
 * The MCP server over stdin and stdout, for `fermata mcp`: the same tools, both eras, one client. Only
 * protocol goes to stdout; the logger handed in must write elsewhere.
 */
import type { Readable, Writable } from 'node:stream';
import { serveStdio as serveConnection, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Logger } from 'pino';
import { noMeter } from './metrics.ts';
import { createRunService, type RunServiceConfig } from './runs/run-service.ts';
import { createServerFactory } from './mcp/server-factory.ts';

export interface StdioDeps {
  readonly logger: Logger;
  /** Default: those of this process. */
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  /** `off`: the client is shown no forms, though it declares that it can. Default `on`. */
  readonly forms?: 'on' | 'off' | undefined;
}

export interface StdioServer {
  /** Resolves when the client has closed its end. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Starts to serve; does not wait for Temporal or the proxy. */
export function serveStdio(config: RunServiceConfig, deps: StdioDeps): StdioServer {
  const { logger, stdin = process.stdin, stdout = process.stdout } = deps;
  const service = createRunService(config);
  const factory = createServerFactory({
    service,
    logger,
    meter: noMeter,
    forms: deps.forms,
    telemetry: config.telemetry,
    stateKey: { serviceToken: config.token ?? null, temporal: config.temporal },
    originOf: () => {
      throw new Error('there are no HTTP requests over stdio');
    },
  });
  const closed = new Promise<void>((resolve) => {
    stdin.once('end', resolve);
    stdin.once('close', resolve);
    // A client that has died leaves a broken pipe.
    stdout.once('error', () => resolve());
  });
  const connection = serveConnection(factory.make, {
    transport: new StdioServerTransport(stdin, stdout),
    onerror: (error) => logger.warn({ err: error }, 'mcp connection'),
  });
  return {
    closed,
    async close() {
      await factory.drain();
      await connection.close();
      await service.close();
    },
  };
}
