/**
 * An engine whose replies a test writes by hand, chunk by chunk, so that it can stop at any point. What a
 * probe asks (any GET) it answers itself, as a healthy engine that serves `m-test`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface EngineCall {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly response: ServerResponse;
  /** The proxy has closed the connection before the reply was complete. */
  readonly aborted: () => boolean;
  head(status: number, headers?: Record<string, string>): void;
  write(bytes: string | Uint8Array): void;
  end(): void;
  /** Cuts the connection. */
  reset(): void;
  /** A whole JSON reply. */
  json(status: number, value: unknown, headers?: Record<string, string>): void;
}

export interface ScriptedEngine {
  readonly url: string;
  readonly port: number;
  readonly calls: readonly EngineCall[];
  readonly openSockets: () => number;
  /** The next request that has not been handed out yet; waits up to 20 s for it. */
  next(): Promise<EngineCall>;
  /** Whoever waits for a request gets none. */
  forgetWaits(): void;
  /** Answers every request from now on; null: they are handed out again. */
  answer(respond: ((call: EngineCall) => void) | null): void;
  close(): Promise<void>;
}

/** @param listenPort 0: any free one. */
export async function startScriptedEngine(listenPort = 0): Promise<ScriptedEngine> {
  const calls: EngineCall[] = [];
  const waiting: ((call: EngineCall) => void)[] = [];
  const unclaimed: EngineCall[] = [];
  const sockets = new Set<Socket>();
  let respond: ((call: EngineCall) => void) | null = null;
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      const body = request.url === '/v1/models' ? { data: [{ id: 'm-test' }] } : {};
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    void readCall(request, response).then((call) => {
      calls.push(call);
      if (respond !== null) {
        respond(call);
        return;
      }
      const claim = waiting.shift();
      if (claim === undefined) unclaimed.push(call);
      else claim(call);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  const givingUp = new Set<NodeJS.Timeout>();
  await new Promise<void>((resolve) => {
    server.listen(listenPort, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    calls,
    openSockets: () => sockets.size,
    next: async () => {
      const call = unclaimed.shift();
      if (call !== undefined) return call;
      return await new Promise((resolve, reject) => {
        const giveUp = setTimeout(() => reject(new Error('no request came to the engine')), 20_000);
        givingUp.add(giveUp);
        waiting.push((claimed) => {
          clearTimeout(giveUp);
          resolve(claimed);
        });
      });
    },
    forgetWaits: () => {
      waiting.length = 0;
    },
    answer: (callback) => {
      respond = callback;
    },
    close: async () => {
      // Whoever still waits is of a test that is over; nobody would hear of it.
      for (const timer of givingUp) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

async function readCall(request: IncomingMessage, response: ServerResponse): Promise<EngineCall> {
  let aborted = false;
  response.on('error', () => {});
  response.once('close', () => {
    if (!response.writableFinished) aborted = true;
  });
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return {
    url: request.url ?? '',
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body: Buffer.concat(chunks),
    response,
    aborted: () => aborted,
    head: (status, headers = { 'content-type': 'text/event-stream' }) => {
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    write: (bytes) => {
      response.write(bytes);
    },
    end: () => {
      response.end();
    },
    reset: () => {
      request.socket.resetAndDestroy();
    },
    json: (status, value, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(value));
    },
  };
}
