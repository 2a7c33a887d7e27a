/** One search attribute of fermata, for a workflow that is started. */
import { defineSearchAttributeKey } from '@temporalio/common';

export function pair(name: string, value: string) {
  return { key: defineSearchAttributeKey(name, 'KEYWORD'), value };
}
