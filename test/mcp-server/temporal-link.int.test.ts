import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TemporalLink } from '../../mcp-server/runs/temporal-link.ts';

let uncaught: Error[] = [];
const note = (error: Error): void => {
  uncaught.push(error);
};
beforeEach(() => {
  uncaught = [];
  process.prependListener('uncaughtException', note);
});
afterEach(() => {
  process.off('uncaughtException', note);
});

/** A port on which nobody listens. */
async function silentPort(): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as AddressInfo;
  await new Promise<void>((resolve) => holder.close(() => resolve()));
  return port;
}

function block(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

describe('the link to Temporal', () => {
  it('is closed at any moment of a call that is tried again and again, and nothing is thrown past its callers', async () => {
    const address = `127.0.0.1:${await silentPort()}`;
    const closings = Array.from({ length: 24 }, async (_, index) => {
      const link = new TemporalLink({ address, namespace: 'default' }, 3_000);
      const call = link
        .call((client) => client.workflowService.getSystemInfo({}))
        .catch((error: unknown) => error);
      // No waiting for anything: each is closed at another moment.
      await delay(index * 35);
      await link.close();
      return await call;
    });
    // Timers come late on a busy machine, and in any order.
    const blocking = setInterval(() => block(Math.random() * 100), 20);
    for (const failed of await Promise.all(closings)) expect(failed).toBeInstanceOf(Error);
    // Longer than any try waits.
    await delay(1_500);
    clearInterval(blocking);
    expect(uncaught).toEqual([]);
  });
});
