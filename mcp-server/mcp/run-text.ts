/**
 * How runs are told to a model: a short text to read, and the same as structured content. Texts of
 * several runs share the room of one answer fairly. Pure.
 */
import { isFinal } from '../../contracts/run.ts';
import {
  approvalHint,
  approvalLines,
  fitApprovals,
  structuredApprovals,
  noneFitted,
  type FittedApprovals,
} from '../runs/approval-text.ts';
import type { ApproveOutcome } from '../runs/approve-run.ts';
import { budgetLines, structuredBudget } from './budget-text.ts';
import type { AwaitOutcome } from '../runs/await-runs.ts';
import type { CancelOutcome } from '../runs/cancel-run.ts';
import { answerBytes, cutTogether, jsonBytes } from '../runs/fair-cut.ts';
import { familyLines, structuredFamily } from './family-text.ts';
import type { RunList } from '../runs/list-runs.ts';
import type { RunStanding } from '../runs/run-service.ts';
import type { RunView } from '../runs/run-view.ts';
import type { SpawnedRun } from '../runs/spawn-run.ts';

export interface ToolAnswer {
  readonly text: string;
  readonly structured: Record<string, unknown>;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

function headline(run: RunView): string {
  const { turns, toolCalls, failedToolCalls, promptTokens, completionTokens } = run.counters;
  const failed = failedToolCalls === 0 ? '' : ` (${failedToolCalls} failed)`;
  const work = `${plural(turns, 'turn')}, ${plural(toolCalls, 'tool call')}${failed}, ${promptTokens + completionTokens} tokens`;
  const phase = isFinal(run.status) ? '' : ` (${run.phase})`;
  const partial = isUnfinished(run) ? ' until then' : '';
  return `${run.handle}: ${run.status}${phase}, ${work}${partial}`;
}

/** It ended without an answer: what is told of its work and its text is partial. */
function isUnfinished({ status }: RunView): boolean {
  return status === 'Failed' || status === 'Cancelled';
}

/** What is long in a run's answer: its result, or the partial text of a run that did not complete. */
function longText(run: RunView): string {
  return run.result ?? run.partial ?? '';
}

function body(run: RunView, text: string): string[] {
  if (run.status === 'Completed') {
    const cut = run.cutAtMaxTokens ? ['[the model was cut off at maxTokens]'] : [];
    return run.result === null ? [] : [text === '' ? '[empty answer]' : text, ...cut];
  }
  const reason = run.reason === null ? [] : [`reason: ${run.reason}`];
  return run.partial === null ? reason : [...reason, 'partial text (the run did not complete):', text];
}

function structuredRun(run: RunView, text: string, approvals: FittedApprovals): Record<string, unknown> {
  const { turns, promptTokens, completionTokens, cachedTokens } = run.counters;
  return {
    handle: run.handle,
    status: run.status,
    phase: run.phase,
    task: run.summary,
    ...(run.result === null ? {} : { result: text }),
    ...(run.cutAtMaxTokens ? { cutAtMaxTokens: true } : {}),
    ...(run.reason === null ? {} : { reason: run.reason }),
    ...(run.partial === null ? {} : { partial: text }),
    toolCalls: run.counters.toolCalls,
    failedToolCalls: run.counters.failedToolCalls,
    usage: { turns, promptTokens, completionTokens, cachedTokens },
    ...(isUnfinished(run) ? { isPartial: true } : {}),
    ...structuredBudget(run.budget),
    ...structuredApprovals(approvals),
  };
}

/** Room for everything of a run but its texts; handle, phase and counters fit in. */
const fixedBytesOfRun = 250;
/** All summaries of one answer: a hundred whole ones, in most scripts. */
const summaryBytes = 20_000;
/** Long texts share at least so much, however many runs there are. */
const leastTextBytes = 10_000;
/** Twice what a budget takes in a text, for its structured twin. */
const budgetBytes = 400;

function fixedBytesOf({ budget }: RunView): number {
  return fixedBytesOfRun + (budget === null ? 0 : budgetBytes);
}

/** What to do next; null when nothing is left to do. */
function hintOf({ done, runs }: AwaitOutcome): string | null {
  const open = runs.filter((run) => !isFinal(run.status)).length;
  if (open === 0) return null;
  const approval = approvalHint(runs);
  const waiting = runs.filter((run) => run.status === 'AwaitingApproval').length;
  if (waiting === open) return `${approval} Nothing goes on until then.`;
  const also = approval === null ? '' : ` ${approval}`;
  if (done) return `${plural(open, 'run')} still at work; await the rest later, or cancel.${also}`;
  return `Time is up with ${plural(open, 'run')} still at work. Nothing is lost: call await again with the same handles.${also}`;
}

function withSummariesCut<R extends Pick<RunView, 'summary'>>(runs: readonly R[]): R[] {
  const summaries = cutTogether(
    runs.map(({ summary }) => summary),
    summaryBytes,
  );
  return runs.map((run, index) => ({ ...run, summary: summaries[index] ?? '' }));
}

function total(texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text === null ? 0 : jsonBytes(text)), 0);
}

export function tellAwait(whole: AwaitOutcome): ToolAnswer {
  const fitted = fitApprovals(whole.runs.map((run) => run.pendingApprovals));
  const summarised = withSummariesCut(whole.runs);
  const fixed = summarised.reduce((sum, run) => sum + fixedBytesOf(run), 0);
  const room = answerBytes - fixed - total(summarised.map((run) => run.summary)) - fitted.bytes;
  // Why a run failed is worth more than how far it came.
  const reasons = cutTogether(
    summarised.map((run) => run.reason ?? ''),
    Math.max(leastTextBytes, Math.floor((room * 2) / 3)),
  );
  const runs = summarised.map((run, index) => ({
    ...run,
    reason: run.reason === null ? null : (reasons[index] ?? ''),
  }));
  const outcome = { ...whole, runs };
  const { done } = outcome;
  const texts = cutTogether(runs.map(longText), Math.max(leastTextBytes, room - total(reasons)));
  const approvals = (index: number): FittedApprovals => fitted.lists[index] ?? noneFitted;
  const parts = runs.map((run, index) =>
    [
      headline(run),
      ...budgetLines(run.budget),
      ...approvalLines(approvals(index)),
      ...body(run, texts[index] ?? ''),
    ].join('\n'),
  );
  const hint = hintOf(outcome);
  return {
    text: [...(hint === null ? [] : [hint]), ...parts].join('\n\n'),
    structured: {
      done,
      ...(hint === null ? {} : { hint }),
      runs: runs.map((run, index) => structuredRun(run, texts[index] ?? '', approvals(index))),
    },
  };
}

export function withNotes(answer: ToolAnswer, notes: readonly string[]): ToolAnswer {
  if (notes.length === 0) return answer;
  return {
    text: [answer.text, ...notes.map((note) => `note: ${note}`)].join('\n'),
    structured: { ...answer.structured, notes: [...notes] },
  };
}

export function tellSpawn(spawned: SpawnedRun): ToolAnswer {
  const { handle, existing, status, notes } = spawned;
  const first = existing
    ? `${handle}: this requestId has started this run before; it is ${status}. Call await for its result.`
    : `${handle}: started. Call await with it (and all others you started) for the result.`;
  return withNotes(
    { text: first, structured: { handle, status, ...(existing ? { existing: true } : {}) } },
    notes,
  );
}

export function tellStatus({ run, family }: RunStanding): ToolAnswer {
  const { modelMs, toolMs, heldMs } = run.counters;
  const [partial = ''] = cutTogether([run.partial ?? '']);
  const [approvals = noneFitted] = fitApprovals([run.pendingApprovals], answerBytes / 2).lists;
  const hint = approvalHint([run]);
  const lines = [
    headline(run),
    `task: ${run.summary}`,
    `model: ${run.model ?? 'the first of the pool'}, class: ${run.class ?? 'unknown'}, started ${run.startedAt}${run.endedAt === null ? '' : `, ended ${run.endedAt}`}`,
    `time: ${modelMs} ms in the model, ${toolMs} ms in tools, ${heldMs} ms held`,
    ...(run.status === 'Completed' ? ['await returns its result'] : body(run, partial)),
    ...approvalLines(approvals),
    ...budgetLines(run.budget),
    ...familyLines(run, family),
    ...(hint === null ? [] : [hint]),
  ];
  const { result: _, ...rest } = structuredRun(run, partial, approvals);
  return {
    text: lines.join('\n'),
    structured: {
      ...rest,
      ...(hint === null ? {} : { hint }),
      model: run.model,
      class: run.class,
      caller: run.caller,
      root: run.root,
      parent: run.parent,
      startedAt: run.startedAt,
      endedAt: run.endedAt,
      modelMs,
      toolMs,
      heldMs,
      ...structuredFamily(family),
    },
  };
}

export function tellList({ runs: whole, more }: RunList): ToolAnswer {
  const runs = withSummariesCut(whole);
  const lines = runs.map((run) => `${headline(run)}\n  ${run.summary}`);
  const end = more ? [`older runs are left out; the newest ${runs.length} are shown`] : [];
  return {
    text: runs.length === 0 ? 'You have no runs yet; spawn starts one.' : [...lines, ...end].join('\n'),
    structured: {
      runs: runs.map((run) => ({
        handle: run.handle,
        status: run.status,
        phase: run.phase,
        task: run.summary,
        ...(run.parent === null ? {} : { parent: run.parent }),
        startedAt: run.startedAt,
        endedAt: run.endedAt,
      })),
      more,
    },
  };
}

export function tellCancel({ handle, reached, status, later }: CancelOutcome): ToolAnswer {
  const shut = later
    ? 'No worker answers now: as soon as one does, what is below ends too (it is not counted here), and nothing can be spawned under it any more.'
    : 'Nothing can be spawned under it any more.';
  const text =
    reached === 0
      ? `${handle} had ended already (${status}), and nothing below it was at work. ${shut}`
      : `${handle}: asked to end, ${plural(reached, 'run')} reached, itself and those below it. ${shut} await shows when they have ended, with their partial texts.`;
  return { text, structured: { handle, reached, status, ...(later ? { later } : {}) } };
}

export function tellApprove({ handle, accepted, decided, status }: ApproveOutcome): ToolAnswer {
  const { id, tool, allow, by } = decided;
  const done = allow
    ? `allowed: ${tool} is called now, once, with exactly the arguments of ${id}`
    : `declined: ${tool} is not called, and the sub-agent is told so`;
  const text = accepted
    ? `${handle}: ${done}. await returns its answer.`
    : `${handle}: approval ${id} was already decided: the call of ${tool} was ${allow ? 'allowed' : 'declined'} by ${by}. Your answer changed nothing.`;
  return {
    text,
    structured: {
      handle,
      approvalId: id,
      outcome: accepted ? 'accepted' : 'already decided',
      tool,
      allow,
      by,
      ...(accepted ? {} : { status }),
    },
  };
}
