/**
 * The service: `/mcp` for MCP clients, `/api` for the page and the command line, the page itself at `/`,
 * `/metrics`, `/healthz`, `/readyz`. It starts without Temporal, worker and proxy; `/readyz` and the tools
 * say what is missing. On loopback it answers only requests that name a loopback host and come from no
 * foreign web page.
 */
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  toNodeHandler,
  type NodeIncomingMessageLike,
  type NodeServerResponseLike,
} from '@modelcontextprotocol/node';
import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { openAccess, type Access } from '../auth/access.ts';
import { tokenName } from '../auth/grant.ts';
import { addRunApi } from './api/add-run-api.ts';
import type { ServerConfiguration } from './api/config-route.ts';
import type { EventStreamOptions } from './api/event-stream.ts';
import { addDoor } from './door.ts';
import { guardLoopback } from './guard-loopback.ts';
import type { SessionLimits } from './mcp/legacy-sessions.ts';
import { createMcpEndpoint, maxBodyBytes, type McpEndpoint } from './mcp/mcp-endpoint.ts';
import { createMetrics } from './metrics.ts';
import { addPage, type PageSource } from './page/add-page.ts';
import { packageVersion } from './runs/package-version.ts';
import { metricsText } from '../telemetry/metrics-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { createRunService, type RunService, type RunServiceConfig } from './runs/run-service.ts';
import { createServerFactory, type RequestOrigin } from './mcp/server-factory.ts';

export interface McpServerConfig extends Omit<RunServiceConfig, 'token' | 'callers' | 'telemetry'> {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Root of Temporal's own web pages; null or absent: not known. */
  readonly temporalUiUrl?: string | null | undefined;
  readonly sessionLimits?: SessionLimits | undefined;
  readonly eventStreams?: EventStreamOptions | undefined;
  /** Milliseconds between two looks for sessions that have expired. Default 30 seconds. */
  readonly sessionSweepMs?: number | undefined;
}

export interface McpServerHandle {
  /** Root of the service; MCP clients use `/mcp` below it. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface McpServerDeps {
  readonly logger: Logger;
  /** Who is let in, and the token for the proxy; absent: everyone, and none. */
  readonly access?: Access;
  /** Where requests are traced; its owner closes it after the server. null or absent: nowhere. */
  readonly telemetry?: Telemetry | null;
  /** The web page; absent: `/` says where the rest is. */
  readonly page?: PageSource;
  /** What it goes by and shows; absent: there is no file. */
  readonly configuration?: ServerConfiguration | null;
}

const defaultSweepMs = 30_000;

/** @throws when the port is taken. */
export async function createMcpServer(
  config: McpServerConfig,
  { logger, access = openAccess, page, configuration = null, telemetry = null }: McpServerDeps,
): Promise<McpServerHandle> {
  const service = createRunService({
    ...config,
    token: access.serviceToken,
    callers: () => configuration?.current().callers ?? {},
    telemetry,
  });
  const origins = new WeakMap<Request, RequestOrigin>();
  const metrics = createMetrics({
    sessions: () => endpoint.sessions(),
    watchedRuns: () => service.watchedRuns(),
    listeners: () => api.listeners(),
    runCounts: () => service.runCounts(),
  });
  const factory = createServerFactory({
    service,
    logger,
    meter: metrics,
    telemetry,
    stateKey: { serviceToken: access.serviceToken, temporal: config.temporal },
    originOf: (request) => {
      const origin = request === undefined ? undefined : origins.get(request);
      // Never guessed: without it nobody knows who asks.
      if (origin === undefined) throw new Error('a request that came through no door');
      return origin;
    },
  });
  const endpoint = createMcpEndpoint(factory.make, logger, config.sessionLimits);
  const app = fastify();
  guardLoopback(app, config.host);
  addDoor(app, access, logger);
  serveMcp(app, endpoint, origins, logger);
  const facts = {
    version: packageVersion,
    temporalNamespace: config.temporal.namespace,
    temporalUiUrl: config.temporalUiUrl ?? null,
  };
  const shown = { facts, configuration, meter: metrics, events: config.eventStreams };
  const api = addRunApi(app, { service, logger, telemetry, ...shown });
  const noteStop = serveProbes(app, service);
  app.get('/metrics', async (_, reply) => {
    reply.type(metrics.registry.contentType);
    return await metricsText(metrics.registry, telemetry);
  });
  if (page === undefined) app.get('/', () => 'fermata mcp-server: MCP at /mcp\n');
  else addPage(app, page, logger);
  const sweep = setInterval(() => {
    endpoint.expireSessions().catch((error: unknown) => logger.warn({ err: error }, 'sessions not expired'));
  }, config.sessionSweepMs ?? defaultSweepMs);
  sweep.unref();
  const close = async (): Promise<void> => {
    noteStop();
    clearInterval(sweep);
    await Promise.all([api.drain(), factory.drain()]);
    await endpoint.close();
    await stopServing(app);
    await service.close();
  };
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await close();
    throw error;
  }
  const { port } = app.server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return { url: `http://${host}:${port}`, port, close };
}

/** What is still to be answered or written gets this long before connections are closed. */
const lastBytesMs = 1_000;

/** Lets nobody in, answers whoever is in already, and then waits for no connection that is merely open. */
async function stopServing(app: FastifyInstance): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), lastBytesMs);
  await app.close();
  clearTimeout(cutOff);
}

function serveMcp(
  app: FastifyInstance,
  endpoint: McpEndpoint,
  origins: WeakMap<Request, RequestOrigin>,
  logger: Logger,
): void {
  const onerror = (error: Error): void => logger.error({ err: error }, 'mcp request failed');
  app.register((scope, _, done) => {
    // The endpoint reads the body itself, so that what is wrong with it is told in JSON-RPC.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
    scope.all('/mcp', async (request, reply) => {
      reply.hijack();
      const serve = async (webRequest: Request): Promise<Response> => {
        origins.set(webRequest, { address: request.ip, grant: request.grant });
        return await endpoint.fetch(webRequest, tokenName(request.grant));
      };
      const handle = toNodeHandler({ fetch: serve }, { onerror, maxRequestBodySize: maxBodyBytes });
      await handle(request.raw as NodeIncomingMessageLike, flushingHeaders(reply.raw));
    });
    done();
  });
}

/** Sends headers at once: a stream that has nothing to say yet is open all the same. */
function flushingHeaders(raw: ServerResponse): NodeServerResponseLike {
  return {
    get destroyed() {
      return raw.destroyed;
    },
    writeHead(status, headers) {
      raw.writeHead(status, headers);
      raw.flushHeaders();
    },
    write: (chunk) => raw.write(chunk),
    end: (chunk) => raw.end(chunk),
    on: (event, listener) => raw.on(event, listener),
  };
}

/** @returns what says that it stops: balancers send nobody here any more, while those who wait are answered. */
function serveProbes(app: FastifyInstance, service: RunService): () => void {
  let stopping = false;
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    if (stopping) {
      reply.code(503);
      return { status: 'stopping' };
    }
    const fault = await service.temporalFault();
    if (fault === null) return { status: 'ready' };
    reply.code(503);
    return { status: 'not ready', missing: { temporal: fault } };
  });
  return () => {
    stopping = true;
  };
}
