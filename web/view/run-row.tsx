/** One run of the list: what it is for, how it stands, what it has cost; its tree on demand. */
import { useState } from 'preact/hooks';
import type { Run } from '../api/types.ts';
import { linkToRun } from '../model/parse-route.ts';
import { runOf } from '../model/run-list.ts';
import { isAtWork } from '../model/run-order.ts';
import { clock, count, duration, lasted, plural } from '../model/words.ts';
import { StatusBadge } from './status-badge.tsx';
import { TreeOfRun } from './tree-of-run.tsx';

export function RunRow({ handle, showParent }: { readonly handle: string; readonly showParent: boolean }) {
  const run = runOf(handle)?.value;
  const [isOpen, setOpen] = useState(false);
  if (run === undefined) return null;
  return (
    <li class="row">
      <div class="row-head">
        <button
          type="button"
          class="quiet disclose"
          aria-expanded={isOpen}
          aria-label={`Tree of ${run.task}`}
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
        </button>
        <a class="row-link" href={linkToRun(handle)}>
          <span class="row-task">{run.task === '' ? handle : run.task}</span>
          <StatusBadge status={run.status} />
          <span class="row-facts">{facts(run, showParent)}</span>
        </a>
      </div>
      {isOpen && <TreeOfRun handle={handle} />}
    </li>
  );
}

function facts(run: Run, showParent: boolean): string {
  const { counters } = run;
  const nowMs = Date.now();
  return [
    isAtWork(run.status)
      ? `since ${clock(run.startedAt, nowMs)}`
      : `${clock(run.endedAt ?? run.startedAt, nowMs)}, ${duration(lasted(run, nowMs))}`,
    isAtWork(run.status) ? run.phase : '',
    `${count(counters.promptTokens + counters.completionTokens)} tokens`,
    plural(counters.turns, 'turn'),
    plural(counters.toolCalls, 'tool call'),
    run.caller ?? '',
    run.class ?? '',
    showParent && run.parent !== null ? 'sub-agent' : '',
  ]
    .filter((text) => text !== '')
    .join(' · ');
}
