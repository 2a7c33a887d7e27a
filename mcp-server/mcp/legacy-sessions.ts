/**
 * Sessions of clients of the protocol versions before 2026-07-28: one transport and one server each,
 * over Streamable HTTP. Their number is bounded: over it, the longest idle one gives way, and when none
 * is idle a new one is refused. A session without an open exchange expires. What a session was is not
 * kept: a client whose session is gone gets 404 and starts anew, and its handles stay valid.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import {
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { bindResponse } from './bound-response.ts';

export interface SessionLimits {
  readonly maxSessions: number;
  /** Milliseconds without an open exchange after which a session expires. */
  readonly idleMs: number;
}

export const defaultSessionLimits: SessionLimits = { maxSessions: 1_000, idleMs: 30 * 60_000 };

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer;
  /** Name of the token that opened it; for every other one it does not exist. */
  readonly tokenName: string | null;
  openExchanges: number;
  /** Clock reading at which the last exchange ended. */
  idleSince: number;
}

const sessionHeader = 'mcp-session-id';

const cancelledSchema = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});

/** Ids of the calls that a message, or a batch of them, cancels. */
function cancelledIn(body: unknown): (string | number)[] {
  return (Array.isArray(body) ? body : [body]).flatMap((message: unknown) => {
    const parsed = cancelledSchema.safeParse(message);
    return parsed.success ? [parsed.data.params.requestId] : [];
  });
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

export class LegacySessions {
  readonly #makeServer: () => McpServer;
  readonly #limits: SessionLimits;
  readonly #now: () => number;
  readonly #sessions = new Map<string, Session>();
  #closed = false;

  constructor(
    makeServer: () => McpServer,
    limits: SessionLimits = defaultSessionLimits,
    now: () => number = () => performance.now(),
  ) {
    this.#makeServer = makeServer;
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Serves one request.
   * @param body its parsed JSON, undefined where there is none.
   * @param tokenName of the token it came with; null: it came with none that has a name.
   */
  async fetch(request: Request, body: unknown, tokenName: string | null = null): Promise<Response> {
    if (this.#closed) return refusal(503, -32_000, 'this server is stopping; send the request again');
    // Whatever session id an initialize carries, it asks for a new session: the old one may be long gone.
    if (isInitializeRequest(body)) return await this.#open(request, body, tokenName);
    const id = request.headers.get(sessionHeader);
    if (id === null) {
      return refusal(400, -32_000, 'Mcp-Session-Id header is required; send initialize first');
    }
    const session = this.#sessions.get(id);
    if (session?.tokenName !== tokenName)
      return refusal(404, -32_001, 'Session not found; send initialize again');
    return await this.#serve(session, request, body);
  }

  /** Closes the sessions that have been idle for too long. */
  async expire(): Promise<void> {
    const before = this.#now() - this.#limits.idleMs;
    const idle = [...this.#sessions].filter(
      ([, session]) => session.openExchanges === 0 && session.idleSince <= before,
    );
    await Promise.all(idle.map(async ([id, session]) => await this.#end(id, session)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#sessions].map(async ([id, session]) => await this.#end(id, session)));
  }

  async #open(request: Request, body: unknown, tokenName: string | null): Promise<Response> {
    if (!(await this.#makeRoom())) {
      const words = `${this.#limits.maxSessions} sessions are open and none is idle; end one, or try again later`;
      return refusal(503, -32_000, words);
    }
    const server = this.#makeServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    const session: Session = { transport, server, tokenName, openExchanges: 0, idleSince: this.#now() };
    await server.connect(transport);
    const response = await this.#serve(session, request, body);
    // A handshake that was refused leaves no session behind.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  async #serve(session: Session, request: Request, body: unknown): Promise<Response> {
    session.openExchanges += 1;
    const end = (): void => {
      session.openExchanges -= 1;
      session.idleSince = this.#now();
    };
    try {
      const response = await session.transport.handleRequest(request, { parsedBody: body });
      await closeStreams(session, cancelledIn(body));
      return bindResponse(response, request.signal, end);
    } catch (error) {
      end();
      throw error;
    }
  }

  async #makeRoom(): Promise<boolean> {
    if (this.#sessions.size < this.#limits.maxSessions) return true;
    const idle = [...this.#sessions].filter(([, session]) => session.openExchanges === 0);
    const [longest] = idle.toSorted(([, a], [, b]) => a.idleSince - b.idleSince);
    if (longest === undefined) return false;
    await this.#end(...longest);
    return true;
  }

  async #end(id: string, session: Session): Promise<void> {
    this.#sessions.delete(id);
    await session.server.close();
  }
}

/**
 * A cancelled call is never answered, so nothing else would end its stream, and the session would count as busy
 * for as long as it lives.
 */
async function closeStreams({ transport }: Session, calls: readonly (string | number)[]): Promise<void> {
  if (calls.length === 0) return;
  // The call takes back what it has asked its client first, on the same stream.
  await turnOfTheLoop();
  for (const id of calls) transport.closeSSEStream(id);
}
