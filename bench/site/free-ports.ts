/** Ports for processes that are killed and come back to the same place. */
import { createServer } from 'node:net';
import { SetupFault } from '../../cli/setup/setup-fault.ts';

const lowestPort = 20_000;
const highestPort = 32_000;

/**
 * Below the ports that outgoing connections take: while a process is down, nobody else may come to sit on its.
 * @throws SetupFault when too few are free.
 */
export async function choosePorts(host: string, count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  let candidate = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort - 1_000));
  while (ports.length < count) {
    candidate += 1;
    if (candidate > highestPort) throw new SetupFault(`too few free ports: ${count} are needed`);
    if (await isFree(host, candidate)) ports.push(candidate);
  }
  return ports;
}

async function isFree(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
