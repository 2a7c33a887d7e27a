/**
 * The machine's monotonic clock in milliseconds, the same in every process of this machine, so that the
 * load generator can tell how long ago the engine sent a chunk.
 */
import { performance } from 'node:perf_hooks';

/** Read once before, since the first reading takes a while. */
performance.now();
const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export function clockMs(): number {
  return performance.now() + offsetMs;
}
