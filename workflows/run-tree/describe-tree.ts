/** A tree in a few lines of Markdown, for Temporal's own pages. Pure. */
import type { TreeState } from '../../contracts/run-tree.ts';
import { entriesOf, isAtWork } from './tree-state.ts';

export function describeTree(tree: TreeState): string {
  const runs = entriesOf(tree);
  const atWork = runs.filter(([, run]) => isAtWork(run)).length;
  const depth = Math.max(...runs.map(([, run]) => run.depth));
  const closed = runs.flatMap(([handle, run]) =>
    run.closed === null ? [] : [`- ${handle} and all below: ${run.closed.reason}`],
  );
  return [
    `**Tree of ${tree.root}**: ${runs.length} runs, ${atWork} at work, ${depth} deep`,
    ...closed.slice(0, 20),
  ].join('\n');
}
