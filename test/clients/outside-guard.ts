/**
 * An HTTP proxy that lets nothing through and notes who was asked for. A client under test gets it as
 * its proxy for every address but loopback, so that a measurement cannot depend on the internet.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OutsideGuard {
  /** What makes a client use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Addresses that were asked for, in order, at most 100. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

export async function startOutsideGuard(): Promise<OutsideGuard> {
  const refused: string[] = [];
  const note = (address: string | undefined): void => {
    if (refused.length < 100) refused.push(address ?? '');
  };
  const server = createServer((request, response) => {
    note(request.url);
    response.writeHead(403).end();
  });
  server.on('connect', (request, socket) => {
    note(request.url);
    // The client may be gone before it reads the refusal.
    socket.on('error', () => socket.destroy());
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const loopback = '127.0.0.1,localhost,::1';
  return {
    env: {
      HTTP_PROXY: url,
      HTTPS_PROXY: url,
      http_proxy: url,
      https_proxy: url,
      NO_PROXY: loopback,
      no_proxy: loopback,
    },
    refused,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
