/** A change that open runs do not survive: two commands of one workflow task in another order. */
import type { Edit } from './changed-workflows.ts';

const memoThenAttribute = /( upsertMemo\(.*\n)((?:.*\n)*?)( *if \(changed\) upsertSearchAttributes\(.*\n)/;
const inAgentRun = (from: RegExp, to: string): Edit => ({ file: 'agent-run.ts', from, to });

export const swappedOrder: readonly Edit[] = [inAgentRun(memoThenAttribute, '$3$1$2')];

/** The same, but for new runs only. */
export const swappedOrderOfNewRuns: readonly Edit[] = [
  inAgentRun(
    memoThenAttribute,
    "const moved = patched('order');\nif (moved) {\n$3}\n$1$2if (!moved) {\n$3}\n",
  ),
  inAgentRun(/ CancelledFailure,\n/, ' CancelledFailure,\n  patched,\n'),
];
