/**
 * `/mcp`: decides by the request itself which era of the protocol it belongs to and hands it to the
 * stateless handler of 2026-07-28 or to the sessions of the versions before.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  readRequestBody,
  type McpServer,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { bindResponse } from './bound-response.ts';
import { LegacySessions, type SessionLimits } from './legacy-sessions.ts';

export const maxBodyBytes = 4 * 1_024 * 1_024;

export interface McpEndpoint {
  /**
   * Serves one request; the request's signal says when the client has gone.
   * @param tokenName of the token it came with; null: it came with none that has a name.
   */
  fetch(request: Request, tokenName: string | null): Promise<Response>;
  sessions(): number;
  expireSessions(): Promise<void>;
  close(): Promise<void>;
}

function refusal(status: number, code: number, message: string, headers = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers });
}

const bothTypes = 'application/json, text/event-stream';

/** The SDK wants both types by name; who takes any type, or names none, takes these too (RFC 9110, 12.5.1). */
function nameAccepted({ headers }: Request): void {
  const accept = headers.get('accept');
  if (accept === null || accept.trim() === '' || accept.includes('*/*')) headers.set('accept', bothTypes);
}

/** null: the method may be served. Requests of 2026-07-28 are POSTs, and sessions alone know the others. */
function methodRefusal({ method, headers }: Request): Response | null {
  const modern = (headers.get('mcp-protocol-version') ?? '') >= '2026-07-28';
  const allowed = modern ? ['POST'] : ['POST', 'GET', 'DELETE'];
  if (allowed.includes(method)) return null;
  const allow = allowed.join(', ');
  return refusal(405, -32_000, `method ${method} is not served here; use ${allow}`, { allow });
}

export function createMcpEndpoint(
  makeServer: () => McpServer,
  logger: Logger,
  limits?: SessionLimits,
): McpEndpoint {
  const modern = createMcpHandler(makeServer, {
    legacy: 'reject',
    // A stream from the start: its keep-alive comments let a long await pass every proxy on the way.
    responseMode: 'sse',
    maxRequestBodySize: maxBodyBytes,
    onerror: (error) => logger.debug({ err: error }, 'mcp request refused'),
  });
  const sessions = new LegacySessions(makeServer, limits);
  let closed = false;
  return {
    async fetch(request, tokenName) {
      const refused = methodRefusal(request);
      if (refused !== null) return refused;
      nameAccepted(request);
      if (request.method !== 'POST') {
        return await sessions.fetch(request, undefined, tokenName);
      }
      const body = await readRequestBody(request, maxBodyBytes);
      if (body.tooLarge)
        return refusal(413, -32_000, `the body is larger than ${maxBodyBytes} bytes; send less`);
      let parsedBody: unknown;
      try {
        parsedBody = JSON.parse(body.text);
      } catch {
        return refusal(400, -32_700, 'Parse error: the body is not JSON');
      }
      if (await isLegacyRequest(request, parsedBody)) {
        return await sessions.fetch(request, parsedBody, tokenName);
      }
      // Nothing of it has begun: it may be sent to another server at once.
      if (closed) return refusal(503, -32_000, 'this server is stopping; send the request again');
      const response = await modern.fetch(request, { parsedBody });
      return bindResponse(response, request.signal, () => undefined);
    },
    sessions: () => sessions.size,
    expireSessions: () => sessions.expire(),
    async close() {
      closed = true;
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}
