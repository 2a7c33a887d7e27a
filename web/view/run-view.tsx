/** One run: how it stands and what it waits for, what it has cost, what it did when, and what was said. */
import { useEffect, useState } from 'preact/hooks';
import type { RunDetail } from '../api/types.ts';
import { useNow } from '../model/clock.ts';
import { me } from '../model/live.ts';
import { linkToRun } from '../model/parse-route.ts';
import { listLink } from '../model/route.ts';
import { isAtWork } from '../model/run-order.ts';
import { RunPageModel } from '../model/run-page.ts';
import { visible } from '../model/visible-text.ts';
import { clock, duration, lasted } from '../model/words.ts';
import { ApprovalCard } from './approval-card.tsx';
import { BudgetBars } from './budget-bars.tsx';
import { CancelDialog } from './cancel-dialog.tsx';
import { CostTable } from './cost-table.tsx';
import { openSpawn } from './spawn-dialog.tsx';
import { StatusBadge } from './status-badge.tsx';
import { TranscriptView } from './transcript-view.tsx';
import { TreeTable } from './tree-table.tsx';
import { WaterfallView } from './waterfall-view.tsx';

export function RunView({ handle }: { readonly handle: string }) {
  const [model, setModel] = useState<RunPageModel | null>(null);
  useEffect(() => {
    const made = new RunPageModel(handle);
    setModel(made);
    return () => made.close();
  }, [handle]);
  if (model === null) return null;
  return <Loaded model={model} />;
}

function Loaded({ model }: { readonly model: RunPageModel }) {
  const run = model.detail.value;
  const fault = model.fault.value;
  if (run === null) {
    return (
      <section class="card" aria-busy={fault === null}>
        <p role={fault === null ? 'status' : 'alert'}>{fault ?? 'Reading the run …'}</p>
        <a href={listLink.value}>All runs</a>
      </section>
    );
  }
  const tree = model.tree.value;
  const timeline = model.timeline.value;
  return (
    <article class="run" aria-labelledby="run-title">
      <Head run={run} />
      {fault !== null && (
        <p class="banner" role="alert">
          Some of it could not be read: {fault}
        </p>
      )}
      {run.pendingApprovals.map((approval) => (
        <ApprovalCard
          key={approval.id}
          open={{ handle: run.handle, task: run.task, caller: run.caller, approval }}
          showRun={false}
          onDecided={() => model.refresh()}
        />
      ))}
      <Outcome run={run} />
      <BudgetBars run={run} />
      {timeline !== null && <WaterfallView run={run} timeline={timeline} />}
      <CostTable run={run} />
      {tree !== null && tree.runs.length > 1 && (
        <section class="card" aria-labelledby="tree-title">
          <h3 id="tree-title">Tree</h3>
          <TreeTable tree={tree} current={run.handle} />
        </section>
      )}
      <TranscriptView run={run} model={model} />
    </article>
  );
}

function Head({ run }: { readonly run: RunDetail }) {
  const [isCancelling, setCancelling] = useState(false);
  return (
    <header class="run-head">
      <p class="crumbs">
        <a href={listLink.value}>Runs</a>
        {run.root !== run.handle && <a href={linkToRun(run.root)}>root</a>}
        {run.parent !== null && run.parent !== run.root && <a href={linkToRun(run.parent)}>parent</a>}
      </p>
      <h2 id="run-title">{run.task === '' ? run.handle : run.task}</h2>
      <p class="run-line">
        <StatusBadge status={run.status} />
        {isAtWork(run.status) && <span>{run.phase}</span>}
        <Times run={run} />
      </p>
      <dl class="facts">
        <Fact name="Handle" value={run.handle} />
        <Fact name="Caller" value={run.caller ?? 'not known'} />
        <Fact name="Class" value={run.class ?? 'not known'} />
        <Fact name="Model" value={run.model ?? 'first of the pool'} />
      </dl>
      <div class="actions">
        {isAtWork(run.status) || run.subtree.atWork > 0 ? (
          <button type="button" class="danger" onClick={() => setCancelling(true)}>
            Cancel …
          </button>
        ) : null}
        <button type="button" onClick={() => openSpawn(run.handle)}>
          Spawn below …
        </button>
        <TemporalLink handle={run.handle} />
      </div>
      {isCancelling && <CancelDialog run={run} onClose={() => setCancelling(false)} />}
    </header>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Times({ run }: { readonly run: RunDetail }) {
  const nowMs = useNow();
  return (
    <span>
      <time dateTime={run.startedAt}>{clock(run.startedAt, nowMs)}</time>, {duration(lasted(run, nowMs))}
    </span>
  );
}

function TemporalLink({ handle }: { readonly handle: string }) {
  const known = me.value;
  if (known === null || known.temporalUiUrl === null) return null;
  const href = `${known.temporalUiUrl}/namespaces/${encodeURIComponent(known.temporalNamespace)}/workflows/${handle}`;
  return (
    <a href={href} target="_blank" rel="noreferrer">
      Open in Temporal<span class="unseen"> (new tab)</span>
    </a>
  );
}

function Outcome({ run }: { readonly run: RunDetail }) {
  return (
    <>
      {run.reason !== null && (
        <section class="card bad" aria-labelledby="reason-title">
          <h3 id="reason-title">{run.status === 'Cancelled' ? 'Cancelled' : 'Failed'}</h3>
          <p class="text">{visible(run.reason)}</p>
        </section>
      )}
      {run.partial !== null && (
        <section class="card" aria-labelledby="partial-title">
          <h3 id="partial-title">Last text before its end (partial)</h3>
          <p class="text">{visible(run.partial)}</p>
        </section>
      )}
      {run.result !== null && (
        <section class="card good" aria-labelledby="result-title">
          <h3 id="result-title">Answer</h3>
          <p class="text">{visible(run.result)}</p>
          {run.cutAtMaxTokens && <p class="hint">It was cut at the most tokens of a reply.</p>}
        </section>
      )}
    </>
  );
}
