/** Free ports of the loopback interface, for programs that cannot be told to choose theirs. */
import { createServer, type Server } from 'node:net';
import { listen } from '../listen.ts';

/** Temporal keeps the ports of its services in 16 bits with a sign; systems hand out those above by themselves. */
const lowest = 20_000;
const highest = 32_767;
const triesForEach = 200;

/** As many different ports as asked for, free a moment ago. @throws when there are not as many. */
export async function findFreePorts(host: string, count: number): Promise<number[]> {
  const holders: Server[] = [];
  try {
    const ports: number[] = [];
    // All are held at once, or one could be given twice.
    for (let tries = count * triesForEach; ports.length < count; tries -= 1) {
      if (tries === 0) throw new Error(`there are no ${count} free ports from ${lowest} to ${highest}`);
      const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
      const holder = createServer();
      const got = await listen(holder, host, port).catch(() => null);
      if (got === null) continue;
      ports.push(got);
      holders.push(holder);
    }
    return ports;
  } finally {
    await Promise.all(
      holders.map(async (holder) => await new Promise<void>((resolve) => holder.close(() => resolve()))),
    );
  }
}
