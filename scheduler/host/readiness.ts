/** Whether turns can be admitted at all, and what stands in the way. */
import type { SchedulerState } from '../core/state.ts';

export interface Readiness {
  readonly ready: boolean;
  /** One line each. */
  readonly reasons: readonly string[];
}

/** Ready once one replica is healthy; models without a healthy replica are named either way. */
export function describeReadiness(state: SchedulerState): Readiness {
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
  return { ready: members.some((replica) => replica.healthy === true), reasons };
}
