/** Every arm by name. */
import { policySchema } from '../../../contracts/config-file.ts';
import type { ArmKind } from './arm.ts';
import { cacheAware } from './cache-aware.ts';
import { kthenaSessionBoost } from './kthena-session-boost.ts';
import { llmDAttainedService, llmDTurnPriority } from './llm-d-flow-control.ts';
import { consistentHash, roundRobin, sticky } from './routers.ts';
import { coreArm } from './scheduler-core.ts';
import { thunderAgentTokenBudget } from './thunderagent-token-budget.ts';

export const engineLoad = coreArm('engine-load', "the core, admission by the engine's own queue", {
  policy: { admission: 'engine-load' },
  capacityReported: true,
});

export const residency = coreArm('residency', 'the core, admission by resident contexts', {
  policy: { admission: 'residency' },
  capacityReported: true,
});

export const residencyLearned = coreArm('residency-learned', 'the same, no engine says its capacity', {
  policy: { admission: 'residency' },
  capacityReported: false,
});

/** The arm that the product uses when nothing is configured. */
export const defaultArm = policySchema.parse({}).admission === 'residency' ? residency : engineLoad;

export const arms: readonly ArmKind[] = [
  roundRobin,
  sticky,
  consistentHash,
  cacheAware,
  kthenaSessionBoost,
  llmDTurnPriority,
  llmDAttainedService,
  thunderAgentTokenBudget,
  engineLoad,
  residency,
  residencyLearned,
];
