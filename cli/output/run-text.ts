/** Runs, trees, transcripts and the pool as a person reads them on a terminal. Pure. */
import { isFinal } from '../../contracts/run.ts';
import type { RunSummary } from '../../mcp-server/api/run-bodies.ts';
import type { Pool, RunDetail, TranscriptEntry, Tree } from '../server/api-client.ts';
import type { Printer, Style } from './printer.ts';
import { alignColumns, count, duration, oneLine, plural, withoutControls } from './text.ts';

type Paint = Printer['style'];

const styleOfStatus: Readonly<Record<string, Style>> = {
  Running: 'cyan',
  AwaitingApproval: 'yellow',
  Completed: 'green',
  Failed: 'red',
  Cancelled: 'dim',
};

function statusText(status: string, paint: Paint): string {
  return paint(styleOfStatus[status] ?? 'bold', status);
}

function tokensOf({ counters }: Pick<RunSummary, 'counters'>): number {
  return counters.promptTokens + counters.completionTokens;
}

function ageOf(run: Pick<RunSummary, 'startedAt' | 'endedAt'>, nowMs: number): string {
  const end = run.endedAt === null ? nowMs : Date.parse(run.endedAt);
  return duration(Math.max(0, end - Date.parse(run.startedAt)));
}

export function runList(runs: readonly RunSummary[], paint: Paint, nowMs: number): string {
  if (runs.length === 0) return 'no runs';
  const rows = runs.map((run) => [
    run.handle,
    statusText(run.status, paint),
    isFinal(run.status) ? '' : run.phase,
    ageOf(run, nowMs),
    `${count(tokensOf(run))} tok`,
    oneLine(run.task, 60),
  ]);
  return alignColumns([
    ['HANDLE', 'STATUS', 'NOW', 'TIME', 'TOKENS', 'TASK'].map((one) => paint('dim', one)),
    ...rows,
  ]).join('\n');
}

export function runDetail(run: RunDetail, paint: Paint, nowMs: number): string {
  const { counters, budget } = run;
  const cached = counters.promptTokens === 0 ? 0 : counters.cachedTokens / counters.promptTokens;
  const facts = [
    ['status', `${statusText(run.status, paint)}${isFinal(run.status) ? '' : ` (${run.phase})`}`],
    ['task', oneLine(run.task)],
    ['class', `${run.class ?? '-'}, caller ${run.caller ?? '-'}, model ${run.model ?? 'not chosen yet'}`],
    [
      'work',
      `${plural(counters.turns, 'turn')}, ${plural(counters.toolCalls, 'tool call')} (${counters.failedToolCalls} failed), ${count(tokensOf(run))} tokens (${Math.round(cached * 100)} % of the prompts cached)`,
    ],
    [
      'time',
      `${ageOf(run, nowMs)}: model ${duration(counters.modelMs)}, tools ${duration(counters.toolMs)}, held ${duration(counters.heldMs)}`,
    ],
    ...(run.parent === null ? [] : [['parent', run.parent]]),
    ...(run.children.length === 0
      ? []
      : [
          [
            'below',
            `${plural(run.subtree.runs - 1, 'run')}, ${run.subtree.atWork} of the tree at work, ${count(tokensOf(run.subtree))} tokens in all`,
          ],
        ]),
    ...(budget === null ? [] : [['budget', budgetText(budget)]]),
    ...(run.reason === null ? [] : [['reason', oneLine(run.reason, 1_000)]]),
  ];
  return [
    paint('bold', run.handle),
    ...alignColumns(facts).map((line) => `  ${line}`),
    ...approvalLines(run, paint),
    ...textLines(run),
  ].join('\n');
}

function budgetText({ limits, used, exceeded }: NonNullable<RunDetail['budget']>): string {
  const part = (name: 'tokens' | 'toolCalls' | 'seconds', words: string): string[] => {
    const limit = limits[name];
    return limit === undefined ? [] : [`${count(used[name])} of ${count(limit)} ${words}`];
  };
  const parts = [
    ...part('tokens', 'tokens'),
    ...part('toolCalls', 'tool calls'),
    ...part('seconds', 'seconds'),
  ];
  return `${parts.join(', ')}${exceeded === null ? '' : ` (exceeded: ${exceeded})`}`;
}

/** What waits for the user, and how to answer it. */
export function approvalLines(run: Pick<RunDetail, 'handle' | 'pendingApprovals'>, paint: Paint): string[] {
  return run.pendingApprovals.flatMap((one) => [
    `  ${paint('yellow', 'waits for approval')}: ${one.tool} ${oneLine(one.arguments, 2_000)}`,
    `    allow:   fermata approve ${run.handle} ${one.id}`,
    `    decline: fermata approve ${run.handle} ${one.id} --decline`,
  ]);
}

function textLines(run: RunDetail): string[] {
  if (run.result !== null) return ['', withoutControls(run.result === '' ? '[empty answer]' : run.result)];
  return run.partial === null
    ? []
    : ['', 'partial text (the run did not complete):', withoutControls(run.partial)];
}

export function treeText({ runs }: Tree, paint: Paint, nowMs: number): string {
  const rows = runs.map((run) => [
    `${'  '.repeat(run.depth - 1)}${run.depth > 1 ? '└ ' : ''}${run.handle}`,
    statusText(run.status, paint),
    ageOf(run, nowMs),
    `${count(tokensOf(run))} tok`,
    run.subtree.runs > 1
      ? `${count(tokensOf(run.subtree))} with ${plural(run.subtree.runs - 1, 'run')} below`
      : '',
    oneLine(run.task, 50),
  ]);
  return alignColumns(rows).join('\n');
}

export function transcriptText(entries: readonly TranscriptEntry[], paint: Paint): string {
  return entries
    .map((entry) => {
      const of = entry.toolCallId === null ? '' : ` of ${entry.toolCallId}`;
      const calls = entry.toolCalls.map(
        (call) => `→ ${call.name} ${withoutControls(call.arguments)} (${call.id})`,
      );
      const images = entry.images.map(({ mimeType, bytes }) => `[image: ${mimeType}, ${count(bytes)} bytes]`);
      const content = entry.content === null || entry.content === '' ? [] : [withoutControls(entry.content)];
      return [paint('bold', `${entry.index} ${entry.role}${of}`), ...content, ...calls, ...images].join('\n');
    })
    .join('\n\n');
}

export function poolText(pool: Pool, paint: Paint): string {
  const replicas = pool.replicas.map((replica) => [
    replica.id,
    replica.healthy === null
      ? 'not asked yet'
      : replica.healthy
        ? paint('green', 'up')
        : paint('red', 'down'),
    replica.engine,
    `${replica.inFlight}${replica.limit === null ? '' : ` of ${replica.limit}`} in flight`,
    residencyText(replica.residency),
    replica.refuses === null ? '' : paint('yellow', `full: ${replica.refuses}`),
    oneLine(replica.models.join(', '), 40),
  ]);
  const held = pool.held.map(
    (one) =>
      `  ${plural(one.turns, `${one.class} turn`)} of ${one.caller ?? 'others'} held, the oldest for ${duration(one.oldestMs)}`,
  );
  return [...alignColumns(replicas), ...(held.length === 0 ? ['  no turn is held'] : held)].join('\n');
}

function residencyText({ residents, tokens, capacityTokens }: Pool['replicas'][number]['residency']): string {
  const of = capacityTokens === null ? '' : ` of ${count(capacityTokens)}`;
  return `${plural(residents, 'run')} resident, ${count(tokens)}${of} tokens`;
}
