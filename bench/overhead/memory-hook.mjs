/**
 * Loaded before a process that is measured (`node --expose-gc --import`): on SIGUSR2 it collects garbage and
 * appends one JSON line with what is in use to the file that `OVERHEAD_MEMORY_FILE` names.
 */
import { appendFileSync } from 'node:fs';

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  appendFileSync(process.env.OVERHEAD_MEMORY_FILE ?? '', `${JSON.stringify({ rss, heapUsed, external })}\n`);
});
