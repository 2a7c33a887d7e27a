/** The load generator, a process of its own: takes orders over its IPC channel, one at a time. */
import { Worker } from 'node:worker_threads';
import { runClosedLoop } from './closed-loop.ts';
import { HeldRequests } from './held-requests.ts';
import { orderSchema, type LoadResult, type Order } from './load-protocol.ts';
import { runOpenLoop } from './open-loop.ts';

const pacer = new Worker(new URL('pacer.mjs', import.meta.url), { execArgv: [] });
const held = new HeldRequests();

async function carryOut(order: Order): Promise<LoadResult> {
  switch (order.kind) {
    case 'open':
      return await runOpenLoop(order, pacer);
    case 'closed':
      return await runClosedLoop(order);
    case 'hold':
      return { kind: 'held', open: await held.hold(order) };
    case 'release':
      await held.release();
      return { kind: 'released' };
  }
}

process.on('message', (message) => {
  carryOut(orderSchema.parse(message)).then(
    (result) => process.send?.({ ok: true, result }),
    (error: unknown) => process.send?.({ ok: false, reason: String(error) }),
  );
});
// The bench is gone: nobody reads results any more.
process.on('disconnect', () => process.exit(0));
