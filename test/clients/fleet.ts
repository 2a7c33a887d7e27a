/**
 * An agent as a client of the MCP server, whole: it spawns three sub-agents, awaits them in one call, one of
 * them must not delete a page unless a person says so, and it cancels a fourth. Between the agent and our
 * server lies a tap; judged is what the protocol, the runs and the program's output say.
 */
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import type { Ended } from './bounded-process.ts';
import type { ClientResult } from './client-result.ts';
import type { FleetClient, FleetSession, FleetVariant } from './fleet-clients.ts';
import { fleetScript, handlesOf, lastText, patienceScript } from './fleet-script.ts';
import type { FleetScript, ToolExchange } from './fleet-script.ts';
import { startMcpTap } from './mcp-tap.ts';
import { readTapped } from './tapped-session.ts';
import type { TappedSession } from './tapped-session.ts';
import { withoutBlanks } from './terminal-process.ts';

/**
 * Who decides about the page: whoever answers the form that the agent shows, its model with the tool, or nobody,
 * because the agent answers forms with a no by itself.
 */
export type DecidedBy = 'form' | 'approve' | 'nobody';

export interface FleetExpectation {
  readonly client: FleetClient;
  readonly variant: FleetVariant;
  readonly decidedBy: DecidedBy;
  /** Whether the agent shows forms at all, as it declares. */
  readonly declaresForms: boolean;
}

const patienceSeconds = 90;

interface Seen {
  requests: number;
  tools: readonly string[];
  exchanges: readonly ToolExchange[];
}

type DriveOptions = Omit<FleetSession, 'mcpUrl' | 'task' | 'variant' | 'toolsListed'>;

interface Driven {
  readonly ended: Ended;
  readonly seen: Seen;
  readonly tapped: TappedSession;
}

async function drive(
  { client, variant, script }: Pick<FleetExpectation, 'client' | 'variant'> & { script: FleetScript },
  options: DriveOptions,
  task: string,
): Promise<Driven> {
  const seen: Seen = { requests: 0, tools: [], exchanges: [] };
  const tap = await startMcpTap(options.stack.mcpUrl);
  try {
    const toolsListed = (): boolean => readTapped(tap.messages).toolsListed;
    const session = { ...options, mcpUrl: tap.url, task, variant, toolsListed };
    const ended = await client.run(session, (tools, exchanges) => {
      seen.requests += 1;
      Object.assign(seen, { tools, exchanges });
      return script(exchanges);
    });
    return { ended, seen, tapped: readTapped(tap.messages) };
  } finally {
    await tap.close();
  }
}

/** What our own server says of the runs, asked as anybody may ask it. */
async function statusesOf({ stack }: DriveOptions, handles: readonly string[]): Promise<string[]> {
  return await Promise.all(
    handles.map(async (handle) => {
      const url = new URL(`/api/runs/${handle}`, stack.mcpUrl);
      const response = await fetch(url, { headers: { authorization: `Bearer ${stack.token}` } });
      const text = await response.text();
      return /"status":"(\w+)"/.exec(text)?.[1] ?? `${response.status}: ${text.slice(0, 200)}`;
    }),
  );
}

const count = <T>(all: readonly T[], which: (one: T) => boolean): number => all.filter(which).length;

function endBars(name: string, { ended }: Driven): Bar[] {
  return [
    bar(
      `${name} last answers printed`,
      withoutBlanks(ended.stdout).includes(withoutBlanks(lastText)) ? 1 : 0,
      '=',
      1,
    ),
    bar(`${name} exit code`, ended.code, '=', 0),
  ];
}

export async function driveFleet(expected: FleetExpectation, options: DriveOptions): Promise<ClientResult> {
  const { client, variant, decidedBy, declaresForms } = expected;
  const name = `${client.name} fleet${variant === 'plain' ? '' : ` (${variant})`}`;
  const deletions = (): number => options.stack.toolServer.calls().tools['delete_page']?.finished ?? 0;
  const before = deletions();
  const driven = await drive(
    { ...expected, script: fleetScript(60) },
    options,
    'Have sub-agents see to the birds and the attic page.',
  );
  const { ended, seen, tapped } = driven;
  const handles = handlesOf(seen.exchanges);
  const statuses = await statusesOf(options, handles);
  const deleted = deletions() - before;
  const calls = (tool: string): number => count(tapped.calls, (one) => one.tool === tool);
  const bars = [
    bar(`${name} distinct handles from four spawns`, new Set(handles).size, '=', 4),
    bar(`${name} awaits`, calls('await'), '=', decidedBy === 'approve' ? 2 : 1),
    bar(
      `${name} sub-agents completed`,
      count(statuses.slice(0, 3), (one) => one === 'Completed'),
      '=',
      3,
    ),
    bar(
      `${name} sub-agents cancelled`,
      count(statuses.slice(3), (one) => one === 'Cancelled'),
      '=',
      1,
    ),
    bar(`${name} declares forms`, tapped.elicitation === null ? 0 : 1, '=', declaresForms ? 1 : 0),
    bar(
      `${name} forms answered`,
      count(tapped.forms, (form) => form.answer !== null),
      '=',
      decidedBy === 'approve' ? 0 : 1,
    ),
    bar(`${name} calls of approve`, calls('approve'), '=', decidedBy === 'approve' ? 1 : 0),
    bar(`${name} pages deleted`, deleted, '=', decidedBy === 'nobody' ? 0 : 1),
    bar(
      `${name} failed calls`,
      count(tapped.calls, (call) => call.isError || call.tookMs === null),
      '=',
      0,
    ),
    ...endBars(name, driven),
  ];
  return { bars, ended: [ended], seen: { ...seen, tapped, statuses, deleted } };
}

/** One await of a sub-agent that works for a minute and a half, without a setting. */
export async function drivePatience(client: FleetClient, options: DriveOptions): Promise<ClientResult> {
  const name = `${client.name} patience`;
  const driven = await drive(
    { client, variant: 'plain', script: patienceScript(patienceSeconds) },
    options,
    'Have a sub-agent wait.',
  );
  const { ended, seen, tapped } = driven;
  const awaits = tapped.calls.filter(({ tool }) => tool === 'await');
  const bars = [
    bar(`${name} awaits`, awaits.length, '=', 1),
    bar(
      `${name} awaits that were answered`,
      count(awaits, ({ tookMs, isError }) => tookMs !== null && !isError),
      '=',
      1,
    ),
    bar(
      `${name} seconds of its await`,
      Math.round((awaits[0]?.tookMs ?? 0) / 1_000),
      '>=',
      patienceSeconds - 5,
    ),
    bar(`${name} calls taken back`, tapped.cancelled, '=', 0),
    ...endBars(name, driven),
  ];
  return { bars, ended: [ended], seen: { ...seen, tapped } };
}
