/** Whether turns can be admitted at all, and what stands in the way. */
import type { SchedulerState } from '../core/state.ts';

export interface Readiness {
  readonly ready: boolean;
  /** One line each. */
  readonly reasons: readonly string[];
}

/**
 * Ready once one replica is healthy; models without a healthy replica are named either way. One that stands by, or
 * stops, is not, so that whoever goes by readiness comes to the active one.
 * @param awayBecause why it decides nothing now; null: it does.
 */
export function describeReadiness(state: SchedulerState, awayBecause: string | null): Readiness {
  const members = [...state.replicas.values()].filter((replica) => replica.member);
  const reasons = members
    .filter((replica) => replica.healthy !== true)
    .map(
      (replica) => `replica ${replica.id} is ${replica.healthy === null ? 'not probed yet' : 'unhealthy'}`,
    );
  const served = new Set<string>();
  for (const replica of members) {
    if (replica.healthy === true) for (const model of replica.models ?? []) served.add(model);
  }
  const unserved = new Set(members.flatMap((replica) => [...(replica.models ?? [])]));
  for (const model of unserved) {
    if (!served.has(model)) reasons.push(`no healthy replica serves model '${model}'`);
  }
  if (awayBecause !== null) return { ready: false, reasons: [awayBecause, ...reasons] };
  return { ready: members.some((replica) => replica.healthy === true), reasons };
}
