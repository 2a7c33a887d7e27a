/** The tables and the bars of the soak. Pure. */
import { bar, type Bar } from '../bars.ts';
import { memberKinds } from '../operate/cluster-plan.ts';
import { endsOf } from '../operate/blame.ts';
import { alignedTable } from '../sim/table.ts';
import type { SoakFound } from './found.ts';
import { fileGrowthOf, growthOf, moreOf, quartersOf, type Quarters } from './flatness.ts';
import { limits, type SoakPlan } from './plan.ts';

const mebibyte = 1_048_576;
const kibibyte = 1_024;

export function soakBars(plan: SoakPlan, found: SoakFound): readonly Bar[] {
  const { verdict, agents } = found;
  const done = verdict.turns + agents.answered;
  const growth = fileGrowthOf(found.files);
  return [
    bar('soak turns', done, '>=', plan.turns),
    bar('soak turns of durable runs %', (100 * verdict.turns) / done, '>=', 100 * plan.durableShare.least),
    bar('soak kinds of parts restarted', restartedKinds(found), '=', memberKinds.length),
    bar('soak turns lost', agents.lost, '=', 0),
    bar('soak runs lost', verdict.lost.length + verdict.unsettled.length, '=', 0),
    bar('soak runs begun without tools %', (100 * verdict.toolsLeftOut.length) / found.runs, '<=', 1),
    bar('soak turns doubled', verdict.turnsDoubled + agents.doubled.length, '=', 0),
    bar('soak tool calls doubled', verdict.callsDoubled + verdict.effectsDoubled, '=', 0),
    bar('soak turns and calls left in hand', found.left.length, '=', 0),
    bar('soak files more beside logs', growth === null ? null : growth.files, '<=', 0),
    bar(
      'soak files grown by KiB beside logs',
      growth === null ? null : growth.bytes / kibibyte,
      '<=',
      limits.bytesMoreKiB,
    ),
    ...(plan.measuresMemory ? memoryBars(found) : []),
    ...quartersOf(found.samples, 'files').map((quarters) =>
      bar(`soak ${quarters.kind} open files more`, moreOf(quarters), '<=', openLimit(plan, quarters)),
    ),
    ...quartersOf(found.samples, 'sockets').map((quarters) =>
      bar(`soak ${quarters.kind} open sockets more`, moreOf(quarters), '<=', openLimit(plan, quarters)),
    ),
  ];
}

function memoryBars(found: SoakFound): readonly Bar[] {
  return quartersOf(found.samples, 'rssBytes').map((quarters) =>
    bar(
      `soak ${quarters.kind} memory, last quarter over second`,
      growthOf(quarters),
      '<=',
      limits.memoryGrowth,
    ),
  );
}

/** A tenth, or a few: connections come and go with what is under way. */
function openLimit({ openMore }: SoakPlan, { second }: Quarters): number {
  return Math.max(openMore, Math.ceil((limits.openGrowth - 1) * (second ?? 0)));
}

function restartedKinds({ lives }: SoakFound): number {
  return memberKinds.filter((kind) => {
    const { killed, stopped } = endsOf(kind, lives);
    return killed > 0 && killed + stopped > 1;
  }).length;
}

export function soakText(plan: SoakPlan, found: SoakFound): string {
  const { verdict, agents, lives, samples, seconds, restarts } = found;
  const done = verdict.turns + agents.answered;
  const growth = fileGrowthOf(found.files);
  return [
    `${done} turns in ${seconds.toFixed(0)} s (${Math.round(done / seconds)}/s) with ${restarts} restarts: ${agents.answered} of ${agents.runs} runs of own-loop agents, ${verdict.turns} of ${found.runs} durable runs`,
    `broken requests that agents made again: ${agents.brokenRequests}; turns of durable runs asked again: ${verdict.turnsAskedAgain}; outcomes told as unknown: ${verdict.outcomesUnknown}`,
    '',
    restartTable(found),
    '',
    usageTable(found),
    plan.measuresMemory
      ? 'Of each kind the one that is never restarted from the second quarter on, after a forced collection of garbage; medians.'
      : 'Memory is no bar of --quick: the processes live too short for their heaps to have settled.',
    '',
    growth === null
      ? 'files: not measured'
      : `files beside logs and Temporal's database: ${growth.files} more, ${(growth.bytes / kibibyte).toFixed(1)} KiB more`,
    ...[
      ...(growth === null || growth.files <= 0 ? [] : growth.names),
      ...found.left,
      ...verdict.lost,
      ...verdict.toolsLeftOut,
      ...verdict.unsettled,
      ...agents.losses,
      ...agents.doubled,
      ...memberKinds.flatMap((kind) => endsOf(kind, lives).stoppedBadly),
    ]
      .slice(0, 30)
      .map((line) => `  ${line}`),
    ...(samples.length === 0 ? ['no process was measured'] : []),
  ].join('\n');
}

function restartTable({ lives }: SoakFound): string {
  const rows = memberKinds.map((kind) => {
    const { killed, stopped } = endsOf(kind, lives);
    return [kind, String(killed), String(stopped)];
  });
  return alignedTable([['', 'killed -9', 'stopped in order'], ...rows]);
}

function usageTable({ samples }: SoakFound): string {
  const mib = (bytes: number | null): string => (bytes === null ? '-' : (bytes / mebibyte).toFixed(1));
  const plain = (value: number | null): string => (value === null ? '-' : String(value));
  const of = (measure: Parameters<typeof quartersOf>[1], text: (value: number | null) => string) =>
    quartersOf(samples, measure).map(({ second, last }) => `${text(second)} → ${text(last)}`);
  const columns = [of('rssBytes', mib), of('heapBytes', mib), of('files', plain), of('sockets', plain)];
  const rows = memberKinds.map((kind, index) => [kind, ...columns.map((column) => column[index] ?? '-')]);
  return alignedTable([['second → last quarter', 'RSS MiB', 'heap MiB', 'files', 'sockets'], ...rows]);
}
