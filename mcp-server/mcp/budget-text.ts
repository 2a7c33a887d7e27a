/** How a run's budget is told. Pure. */
import { budgetNames, type RunBudget } from '../../contracts/run.ts';

const words = { tokens: 'tokens', toolCalls: 'tool calls', seconds: 'seconds' } as const;

/** `budget: 5610 of 6000 tokens, 12 of 60 seconds used; exceeded: tokens` */
export function budgetLines(budget: RunBudget | null): string[] {
  if (budget === null) return [];
  const { limits, used, exceeded, isShared } = budget;
  const parts = budgetNames.flatMap((name) => {
    const limit = limits[name];
    return limit === undefined ? [] : [`${used[name]} of ${limit} ${words[name]}`];
  });
  const by = isShared ? ' by it and all below it' : '';
  const end = exceeded === null ? '' : `; exceeded: ${words[exceeded]}`;
  return [`budget: ${parts.join(', ')} used${by}${end}`];
}

export function structuredBudget(budget: RunBudget | null): Record<string, unknown> {
  if (budget === null) return {};
  const { limits, used, exceeded } = budget;
  return { budget: { limits, used, exceeded } };
}
