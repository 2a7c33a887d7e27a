/** Ports on the loopback interface. */
import { createServer } from 'node:net';
import { SetupFault } from './setup-fault.ts';

/** A port that was free a moment ago; for programs that cannot be told to choose one themselves. */
export async function findFreePort(host: string): Promise<number> {
  return await listenOnce(host, 0);
}

/** @throws SetupFault that names the setting when something listens on the port already. */
export async function requireFreePort(host: string, port: number, setting: string): Promise<void> {
  if (port === 0) return;
  try {
    await listenOnce(host, port);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`;
    throw new SetupFault(
      `port ${port} (${setting}) ${why}; stop what listens there, or set ${setting} to another port (0: any free one)`,
      { cause: error },
    );
  }
}

async function listenOnce(host: string, port: number): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}
