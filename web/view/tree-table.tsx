/** A tree of runs as a table; a run stands before those below it, and further left. */
import type { RunTree, TreeRun } from '../api/types.ts';
import { linkToRun } from '../model/parse-route.ts';
import { cachedShare, count, duration } from '../model/words.ts';
import { StatusBadge } from './status-badge.tsx';

export function TreeTable({ tree, current }: { readonly tree: RunTree; readonly current: string }) {
  return (
    <div class="scroll" role="region" aria-label="Tree of runs" tabIndex={0}>
      <table class="tree">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Status</th>
            <th scope="col" class="number">
              Turns
            </th>
            <th scope="col" class="number">
              Tool calls
            </th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Cached
            </th>
            <th scope="col" class="number">
              Model time
            </th>
            <th scope="col" class="number">
              Held
            </th>
          </tr>
        </thead>
        <tbody>
          {tree.runs.map((run) => (
            <TreeRow key={run.handle} run={run} isCurrent={run.handle === current} />
          ))}
        </tbody>
      </table>
      {tree.runs.length === 1 && <p class="hint">It has no sub-agents.</p>}
    </div>
  );
}

function TreeRow({ run, isCurrent }: { readonly run: TreeRun; readonly isCurrent: boolean }) {
  const own = run.counters;
  const all = run.subtree.counters;
  const isAlone = run.subtree.runs <= 1;
  const share = cachedShare(all);
  return (
    <tr class={isCurrent ? 'current' : undefined}>
      <th scope="row" style={{ paddingInlineStart: `${0.5 + (run.depth - 1) * 1.1}rem` }}>
        <span class="unseen">Level {run.depth}: </span>
        <a href={linkToRun(run.handle)} aria-current={isCurrent ? 'true' : undefined}>
          {run.task === '' ? run.handle : run.task}
        </a>
      </th>
      <td>
        <StatusBadge status={run.status} />
      </td>
      <Cost own={own.turns} all={all.turns} isAlone={isAlone} show={count} />
      <Cost own={own.toolCalls} all={all.toolCalls} isAlone={isAlone} show={count} />
      <Cost
        own={own.promptTokens + own.completionTokens}
        all={all.promptTokens + all.completionTokens}
        isAlone={isAlone}
        show={count}
      />
      <td class="number">{share === null ? '' : `${share} %`}</td>
      <Cost own={own.modelMs} all={all.modelMs} isAlone={isAlone} show={duration} />
      <Cost own={own.heldMs} all={all.heldMs} isAlone={isAlone} show={duration} />
    </tr>
  );
}

interface CostProps {
  readonly own: number;
  readonly all: number;
  readonly isAlone: boolean;
  readonly show: (value: number) => string;
}

/** Its own, and beneath it that of the run and all below it. */
function Cost({ own, all, isAlone, show }: CostProps) {
  return (
    <td class="number">
      {show(own)}
      {!isAlone && (
        <span class="subtree">
          <span class="unseen">, with all below it </span>
          <span aria-hidden="true">Σ </span>
          {show(all)}
        </span>
      )}
    </td>
  );
}
