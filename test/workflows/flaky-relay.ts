/**
 * A relay in front of a tool server that loses calls on their way, as a network does: it counts every call it is
 * given by tool and arguments, and closes the connection of those that it is told to lose.
 */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

export interface FlakyRelay {
  /** Ends as the address of the tool server does. */
  readonly url: string;
  /** The next `times` calls whose arguments hold `words` are lost. */
  lose(words: string, times: number): void;
  /** Calls whose arguments hold `words`, the lost ones too. */
  attempts(words: string): number;
  close(): Promise<void>;
}

const callSchema = z.object({
  method: z.literal('tools/call'),
  params: z.looseObject({ name: z.string(), arguments: z.unknown() }),
});

export async function startFlakyRelay(toolServerUrl: string): Promise<FlakyRelay> {
  const target = new URL(toolServerUrl);
  const losses = new Map<string, number>();
  const seen: string[] = [];
  const isLost = (text: string): boolean => {
    const words = [...losses.keys()].find((key) => text.includes(key) && (losses.get(key) ?? 0) > 0);
    if (words === undefined) return false;
    losses.set(words, (losses.get(words) ?? 0) - 1);
    return true;
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(incoming);
    const call = callSchema.safeParse(parseJson(body));
    if (call.success) {
      const text = JSON.stringify(call.data.params.arguments);
      seen.push(text);
      if (isLost(text)) {
        response.destroy();
        return;
      }
    }
    const { host: _host, connection: _connection, ...headers } = incoming.headers;
    const { hostname, port } = target;
    const onward = send({ hostname, port, path: incoming.url, method: incoming.method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  };
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${target.pathname}`,
    lose: (words, times) => void losses.set(words, times),
    attempts: (words) => seen.filter((text) => text.includes(words)).length,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
