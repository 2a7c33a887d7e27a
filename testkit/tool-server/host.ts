/**
 * A fake tool server over Streamable HTTP at `/mcp`, for clients of the 2026-07-28 protocol and of those
 * before it; `GET /calls` tells what was executed (see call-log.ts), `GET /health` that it is up. Its tools
 * are in tools.ts. It keeps nothing between starts but the file of calls.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import { listen } from '../listen.ts';
import { createCallLog, type CallCounts, type CallLog } from './call-log.ts';
import { createToolMcpServer, type ToolServerParts } from './tool-mcp-server.ts';

export interface ToolServerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** A JSON line is appended here for each start and end of a call. */
  readonly callLogPath?: string;
  /** Real milliseconds for each millisecond that a tool takes; default 1. `wait` is not scaled. */
  readonly delayScale?: number;
  /** Told of each MCP message that is posted, with its headers. */
  readonly onMessage?: (message: unknown, headers: IncomingHttpHeaders) => void;
}

export interface ToolServer extends Pick<CallLog, 'waitFor'> {
  /** Ends in `/mcp`. */
  readonly url: string;
  readonly port: number;
  calls(): CallCounts;
  close(): Promise<void>;
}

const maxBodyBytes = 4 * 1024 * 1024;
const maxSessions = 200;

/** Starts a tool server; resolves when it listens. */
export async function startToolServer(options: ToolServerOptions = {}): Promise<ToolServer> {
  const host = options.host ?? '127.0.0.1';
  const log = createCallLog(options.callLogPath ?? null);
  const parts = { log, delayScale: options.delayScale ?? 1 };
  const modern = createMcpHandler(() => createToolMcpServer(parts), { legacy: 'reject' });
  const serveModern = toNodeHandler(modern);
  const sessions = createSessions(parts);
  const serveMcp = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? await readJson(request) : undefined;
    if (body !== undefined) options.onMessage?.(body, request.headers);
    const probe = new Request(`http://${host}/mcp`, {
      method: request.method ?? 'GET',
      headers: Object.entries(request.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
    });
    if (await isLegacyRequest(probe, body)) await sessions.serve(request, response, body);
    else await serveModern(request as Parameters<typeof serveModern>[0], response, body);
  };
  const server = createServer({ noDelay: true, keepAliveTimeout: 65_000 }, (request, response) => {
    const path = (request.url ?? '/').split('?')[0];
    if (path === '/mcp') {
      serveMcp(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendJson(response, 400, { error: error instanceof Error ? error.message : String(error) });
      });
    } else if (path === '/calls') sendJson(response, 200, log.counts());
    else if (path === '/health') sendJson(response, 200, { status: 'ok' });
    else sendJson(response, 404, { error: `no such path: ${path ?? ''}` });
  });
  const port = await listen(server, host, options.port ?? 0);
  return {
    url: `http://${host}:${port}/mcp`,
    port,
    calls: log.counts,
    waitFor: log.waitFor,
    async close() {
      await modern.close();
      await sessions.close();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      });
      log.close();
    },
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += (part as Buffer).length;
    if (bytes > maxBodyBytes) throw new Error('the body is larger than 4 MiB');
    parts.push(part as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8')) as unknown;
  } catch {
    throw new Error('the body is not JSON');
  }
}

interface Sessions {
  serve(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  close(): Promise<void>;
}

/** One transport for each client of an older protocol; over 200 the oldest is closed. */
function createSessions(parts: ToolServerParts): Sessions {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  const open = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
      },
      onsessionclosed: (id) => {
        transports.delete(id);
      },
    });
    await createToolMcpServer(parts).connect(transport);
    const [oldest] = transports;
    if (transports.size >= maxSessions && oldest !== undefined) {
      transports.delete(oldest[0]);
      await oldest[1].close();
    }
    return transport;
  };
  return {
    async serve(request, response, body) {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? transports.get(id) : undefined;
      const transport = known ?? (isInitializeRequest(body) ? await open() : null);
      if (transport !== null) {
        await transport.handleRequest(request, response, body);
        return;
      }
      const error = { code: -32_001, message: 'Session not found; send initialize first' };
      sendJson(response, id === undefined ? 400 : 404, { jsonrpc: '2.0', error, id: null });
    },
    async close() {
      for (const transport of transports.values()) await transport.close();
      transports.clear();
    },
  };
}
