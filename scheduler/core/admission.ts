/**
 * Whether a replica has room for a turn (rules 2, 6, 7). One rule for each value of `policy.admission`, in
 * a file of its own; this file chooses.
 */
import type { Policy } from '../../contracts/config-file.ts';
import type { AdmissionRule } from './admission-rule.ts';
import { engineLoad } from './engine-load.ts';
import { residency } from './residency.ts';
import type { Replica } from './state.ts';

const rules: Readonly<Record<Policy['admission'], AdmissionRule>> = { 'engine-load': engineLoad, residency };

export function admissionRule(policy: Policy): AdmissionRule {
  return rules[policy.admission];
}

/** Whether the replica may take any turn at all: a member whose last probe found it healthy. */
export function takesTurns(replica: Replica): boolean {
  return replica.member && replica.healthy === true;
}
