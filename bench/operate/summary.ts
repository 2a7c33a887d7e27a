/** The tables and the bars of the operating bench. Pure. */
import { bar, type Bar } from '../bars.ts';
import type { Verdict } from '../durability/verdict.ts';
import { median } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import type { Exchange } from './balancer.ts';
import { blameOf, endsOf, type Broken } from './blame.ts';
import type { KillSeen } from './chaos.ts';
import { memberKinds, nineProcesses, portsNeeded } from './cluster-plan.ts';
import type { Life } from './member.ts';
import type { OperatePlan } from './plan.ts';

export interface OperateFound {
  readonly verdict: Verdict;
  readonly runs: number;
  readonly kills: readonly KillSeen[];
  readonly lives: readonly Life[];
  readonly agents: {
    readonly runs: number;
    readonly answered: number;
    readonly lost: number;
    readonly losses: readonly string[];
    /** Turns that engines were asked for more often than an agent asked. */
    readonly doubled: readonly string[];
    readonly exchanges: readonly Exchange[];
    readonly nobodyThere: number;
  };
  readonly mcp: {
    readonly calls: number;
    readonly failed: readonly Broken[];
    /** Waits that a stopping mcp-server ended in order. */
    readonly toldToAskAgain: readonly Broken[];
    readonly exchanges: readonly Exchange[];
    readonly nobodyThere: number;
  };
  /** Workflows, by the build of the workers that carried them out. */
  readonly endedOnBuild: { readonly first: number; readonly second: number };
}

/** Every process is restarted once by the deploy. */
const restarts = portsNeeded(nineProcesses);

export function plannedKills({ rounds, oneOfEachKind }: OperatePlan): number {
  return rounds * (oneOfEachKind ? memberKinds.length : portsNeeded(nineProcesses));
}

function failedOf(exchanges: readonly Exchange[]): readonly Broken[] {
  return exchanges.filter(({ outcome }) => outcome === 'failed');
}

export function operateBars(plan: OperatePlan, found: OperateFound): readonly Bar[] {
  const { verdict, agents, mcp, lives, endedOnBuild } = found;
  const stopped = lives.filter(({ end, exitCode }) => end === 'stopped' && exitCode === 0);
  return [
    bar('operate kills', found.kills.length, '=', plannedKills(plan)),
    bar('operate processes stopped in order and replaced', Math.min(stopped.length, restarts), '=', restarts),
    bar('operate runs lost', verdict.lost.length + verdict.unsettled.length, '=', 0),
    bar('operate runs begun without tools %', (100 * verdict.toolsLeftOut.length) / found.runs, '<=', 1),
    bar('operate turns lost of own-loop agents', agents.lost, '=', 0),
    bar('operate turns doubled', verdict.turnsDoubled + agents.doubled.length, '=', 0),
    bar('operate tool calls doubled', verdict.callsDoubled + verdict.effectsDoubled, '=', 0),
    bar(
      'operate agent requests failed but those in flight on a killed proxy',
      blameOf(failedOf(agents.exchanges), lives).inexcusable.length,
      '=',
      0,
    ),
    bar(
      'operate MCP requests failed but those in flight on a killed mcp-server',
      blameOf(mcp.failed, lives).inexcusable.length,
      '=',
      0,
    ),
    bar('operate workflows ended on the first build', endedOnBuild.first, '>=', 1),
    bar('operate workflows ended on the second build', endedOnBuild.second, '>=', 1),
  ];
}

const seconds = (ms: number | null): string => (ms === null ? '-' : (ms / 1_000).toFixed(1));

function killTable({ kills, lives, agents, mcp }: OperateFound): string {
  const { excused: ofAgents } = blameOf(failedOf(agents.exchanges), lives);
  const { excused: ofMcp } = blameOf(mcp.failed, lives);
  const passed = (outcome: Exchange['outcome'], name: string): number =>
    [...agents.exchanges, ...mcp.exchanges].filter((one) => one.outcome === outcome && one.server === name)
      .length;
  const toldToAskAgain = (name: string): number =>
    mcp.toldToAskAgain.filter(({ server }) => server === name).length;
  const names = [...new Set(lives.map(({ member }) => member))];
  const rows = names.map((name) => {
    const own = kills.filter(({ member }) => member === name);
    const decided = own.filter((kill) => kill.decided === true).length;
    return [
      name,
      own.some((kill) => kill.decided !== null) ? `${own.length} (${decided} deciding)` : String(own.length),
      String(lives.filter(({ member, end }) => member === name && end === 'stopped').length),
      seconds(median(own.map(({ downMs }) => downMs))),
      seconds(own.length === 0 ? null : Math.max(...own.map(({ stillMs }) => stillMs))),
      String((ofAgents[name] ?? 0) + (ofMcp[name] ?? 0)),
      String(passed('refused', name)),
      String(passed('turned-away', name)),
      String(toldToAskAgain(name)),
    ];
  });
  const head = [
    'process',
    'killed',
    'stopped',
    'down s',
    'longest without an answer s',
    'broken in flight',
    'refused',
    'turned away',
    'waits ended',
  ];
  return alignedTable([head, ...rows]);
}

export function operateText(found: OperateFound): string {
  const { verdict, agents, mcp, lives, endedOnBuild } = found;
  const inexcusable = [
    ...blameOf(failedOf(agents.exchanges), lives).inexcusable,
    ...blameOf(mcp.failed, lives).inexcusable,
  ];
  return [
    killTable(found),
    '',
    `${found.runs} durable runs, ${verdict.turns} turns of them (asked of the engines ${verdict.turns + verdict.turnsAskedAgain} times), ${verdict.onceCalls} calls of tools that must not be repeated (${verdict.outcomesUnknown} answered with 'outcome unknown'), ${verdict.repeatableCalls} of tools that may be (repeated ${verdict.repeatedCalls} times)`,
    `${agents.runs} runs of own-loop agents, ${agents.answered} turns answered, ${agents.lost} lost; ${mcp.calls} MCP calls`,
    `requests that met nobody at all and waited: ${agents.nobodyThere} of agents, ${mcp.nobodyThere} of MCP clients`,
    `workflows ended: ${endedOnBuild.first} on the first build, ${endedOnBuild.second} on the second`,
    ...memberKinds.flatMap((kind) => endsOf(kind, lives).stoppedBadly),
    ...[...verdict.lost, ...verdict.toolsLeftOut, ...verdict.unsettled, ...agents.losses, ...agents.doubled]
      .slice(0, 20)
      .map((line) => `  ${line}`),
    ...inexcusable
      .slice(0, 20)
      .map(
        (one) =>
          `  failed without excuse: ${one.server ?? 'nobody'} at ${new Date(one.endMs).toISOString()} after ${one.endMs - one.startMs} ms: ${one.why}`,
      ),
  ].join('\n');
}
