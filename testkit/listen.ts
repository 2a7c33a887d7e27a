/** Listening on a port, with the port that was really taken as the answer. */
import type { Server } from 'node:net';

/** Resolves with the port once `server` listens; port 0 is any free one. Rejects when it cannot. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

const tries = 40;
const pauseMs = 50;

/** Listens again on a port that was given up, trying for 2 s while another holds it. */
export async function listenAgain(server: Server, host: string, port: number): Promise<void> {
  for (let count = 1; ; count += 1) {
    try {
      await listen(server, host, port);
      return;
    } catch (error) {
      if (count >= tries) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs);
      });
    }
  }
}
