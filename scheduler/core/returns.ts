/**
 * How often runs come back soon after a finished reply: agents that call their tools in plain text do, and never
 * say that they pause. So a run of which nothing is known yet is taken to do what most of its class do. Recent
 * ones count more: counts are halved now and then.
 */
import type { ServiceClass } from '../../contracts/service-class.ts';

interface Count {
  /** Finished replies after which a run rested. */
  ends: number;
  /** Of them, those that were followed by another turn within the time of a reservation. */
  returns: number;
}

export type Returns = Readonly<Record<ServiceClass, Count>>;

/** Ends that must have been seen before anything is expected. */
const fewestEnds = 8;
const mostEnds = 64;

export function createReturns(): Returns {
  return { interactive: { ends: 0, returns: 0 }, batch: { ends: 0, returns: 0 } };
}

export function noteEnd(returns: Returns, serviceClass: ServiceClass): void {
  const count = returns[serviceClass];
  count.ends += 1;
  if (count.ends < mostEnds) return;
  count.ends /= 2;
  count.returns /= 2;
}

/** The run that had ended so is back within the time of a reservation. */
export function noteReturn(returns: Returns, serviceClass: ServiceClass): void {
  returns[serviceClass].returns += 1;
}

/** Whether most runs of the class come back soon. */
export function mostReturn(returns: Returns, serviceClass: ServiceClass): boolean {
  const { ends, returns: soon } = returns[serviceClass];
  return ends >= fewestEnds && soon > ends / 2;
}
