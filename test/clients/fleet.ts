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
import type { PersonSession } from './fleet-keys.ts';
import { fleetScript, handlesOf, lastText } from './fleet-script.ts';
import type { FleetScript, ToolExchange } from './fleet-script.ts';
import { startMcpTap } from './mcp-tap.ts';
import { readTapped } from './tapped-session.ts';
import type { TappedSession } from './tapped-session.ts';
import { withoutBlanks } from './terminal-screen.ts';

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

export interface Seen {
  requests: number;
  tools: readonly string[];
  exchanges: readonly ToolExchange[];
}

export type DriveOptions = Omit<FleetSession, 'mcpUrl' | 'variant' | keyof PersonSession>;

export interface Driven {
  readonly ended: Ended;
  readonly seen: Seen;
  readonly tapped: TappedSession;
}

interface DrivenWith extends Pick<FleetSession, 'task' | 'variant' | 'formToCome'> {
  readonly client: FleetClient;
  readonly script: FleetScript;
  /** Told the lines of its screen after each change, and whether a call of `await` is under way. */
  readonly looked?: (lines: readonly string[], awaiting: boolean) => void;
}

/** Runs one session with a tap between the agent and our server. */
export async function drive(
  { client, script, looked, ...rest }: DrivenWith,
  options: DriveOptions,
): Promise<Driven> {
  const seen: Seen = { requests: 0, tools: [], exchanges: [] };
  const tap = await startMcpTap(options.stack.mcpUrl);
  const tapped = (): TappedSession => readTapped(tap.messages);
  const isAwaiting = (): boolean =>
    tapped().calls.some(({ tool, tookMs }) => tool === 'await' && tookMs === null);
  try {
    const session: FleetSession = {
      ...options,
      ...rest,
      mcpUrl: tap.url,
      toolsListed: () => tapped().toolsListed,
      ...(looked === undefined ? {} : { looked: (lines) => looked(lines, isAwaiting()) }),
    };
    const ended = await client.run(session, (tools, exchanges) => {
      seen.requests += 1;
      Object.assign(seen, { tools, exchanges });
      return script(exchanges);
    });
    return { ended, seen, tapped: tapped() };
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

export const count = <T>(all: readonly T[], which: (one: T) => boolean): number => all.filter(which).length;

export function endBars(name: string, { ended }: Driven): Bar[] {
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
    {
      client,
      variant,
      script: fleetScript(60),
      task: 'Have sub-agents see to the birds and the attic page.',
      formToCome: decidedBy === 'form',
    },
    options,
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
