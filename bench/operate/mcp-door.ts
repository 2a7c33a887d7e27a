/** MCP clients behind the balancer: each request of a client may go to another mcp-server. */
import { Agent, fetch as undiciFetch } from 'undici';
import { connectModern } from '../mcp-clients.ts';
import type { ServedClient } from '../durability/client.ts';
import { Balancer, type Server } from './balancer.ts';

const timeoutMs = 120_000;

export interface McpDoor {
  readonly balancer: Balancer;
  connect(): Promise<ServedClient>;
  close(): Promise<void>;
}

export function openMcpDoor(servers: readonly Server[]): McpDoor {
  const balancer = new Balancer(servers, whyPassedOn);
  // A connection a request: whether one was in flight on a server is then told by its times alone.
  const dispatcher = new Agent({ pipelining: 0, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  return {
    balancer,
    async connect() {
      let last: string | null = null;
      const balanced = async (input: string | URL, init?: RequestInit): Promise<Response> =>
        await balancer.send(async (server) => {
          const asked = new URL(input);
          last = server.name;
          const options = { ...init, dispatcher } as unknown as Parameters<typeof undiciFetch>[1];
          const answer = await undiciFetch(new URL(asked.pathname + asked.search, server.url), options);
          if (answer.status === 503) throw new TurnedAway(await answer.text());
          return answer;
        });
      const [first] = servers;
      if (first === undefined) throw new RangeError('there is no mcp-server');
      const client = await connectModern(`${first.url}/mcp`, balanced);
      return { ...client, server: () => last };
    },
    close: async () => await dispatcher.close(),
  };
}

/** A server that is stopping has begun nothing. */
class TurnedAway extends Error {
  override readonly name = 'TurnedAway';
}

function whyPassedOn(error: unknown): 'refused' | 'turned-away' | null {
  if (error instanceof TurnedAway) return 'turned-away';
  return causeOf(error) === 'ECONNREFUSED' ? 'refused' : null;
}

function causeOf(error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : null;
}
