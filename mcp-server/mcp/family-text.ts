/** How a run's children and the totals of its subtree are told. Pure. */
import { cutTogether } from '../runs/fair-cut.ts';
import type { RunFamily } from '../runs/run-family.ts';
import type { RunView } from '../runs/run-view.ts';

/** Children that are named; the others are counted. */
const namedChildren = 100;
/** Their summaries share it: a hundred whole ones, in most scripts. */
const summaryBytes = 20_000;

function named(children: RunFamily['children']) {
  const first = children.slice(0, namedChildren);
  const summaries = cutTogether(
    first.map(({ summary }) => summary),
    summaryBytes,
  );
  return first.map((child, index) => ({ ...child, summary: summaries[index] ?? '' }));
}

export function familyLines(run: RunView, { children, subtree }: RunFamily): string[] {
  const above = run.parent === null ? [] : [`parent: ${run.parent}, root of its tree: ${run.root}`];
  if (subtree.runs === 1) return above;
  const { turns, toolCalls, failedToolCalls, promptTokens, completionTokens, cachedTokens } =
    subtree.counters;
  const { modelMs, toolMs, heldMs } = subtree.counters;
  const more = children.length - namedChildren;
  return [
    ...above,
    `with all below it: ${subtree.runs} runs, ${subtree.atWork} at work, ${turns} turns, ${toolCalls} tool calls (${failedToolCalls} failed), ${promptTokens + completionTokens} tokens (${cachedTokens} cached), ${modelMs} ms in the model, ${toolMs} ms in tools, ${heldMs} ms held`,
    'children:',
    ...named(children).map((child) => `  ${child.handle}: ${child.status}, ${child.summary}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

export function structuredFamily({ children, subtree }: RunFamily): Record<string, unknown> {
  const { runs, atWork, counters } = subtree;
  const more = children.length - namedChildren;
  return {
    children: named(children).map(({ handle, status, summary }) => ({ handle, status, task: summary })),
    ...(more > 0 ? { moreChildren: more } : {}),
    subtree: { runs, atWork, ...counters },
  };
}
