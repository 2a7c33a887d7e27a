/**
 * A thread that says when each request is due. Timers of the event loop have whole milliseconds and wait
 * for whatever else runs; this thread sleeps on a futex to a fraction of one and burns no processor.
 * Plain JavaScript: threads do not inherit the loader for TypeScript.
 */
import { parentPort } from 'node:worker_threads';

const never = new Int32Array(new SharedArrayBuffer(4));

parentPort?.on('message', (/** @type {readonly number[]} */ dueAtMs) => {
  for (const [index, due] of dueAtMs.entries()) {
    // The machine's monotonic clock, as in clock.ts.
    const waitMs = due - Number(process.hrtime.bigint()) / 1e6;
    if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    parentPort?.postMessage(index);
  }
});
