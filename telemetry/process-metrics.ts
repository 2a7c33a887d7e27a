/**
 * What prom-client tells of this process: processor time, memory, garbage collection, event-loop lag. Once
 * for the process, however many services are in it: each set of these costs a timer and an observer.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';

let shared: Registry | null = null;

export function processRegistry(): Registry {
  if (shared === null) {
    shared = new Registry();
    collectDefaultMetrics({ register: shared });
  }
  return shared;
}
