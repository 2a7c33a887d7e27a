/**
 * Claude Code as a client of the MCP server: a scripted model has it spawn three sub-agents in one
 * reply, wait for the three with one `await`, and answer. Everything between the model and the sub-agents
 * is real; what is judged is what comes back to the model.
 */
import { z } from 'zod';
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import type { Block } from './anthropic-stream.ts';
import type { Ended } from './bounded-process.ts';
import { runClaudeSession } from './claude-session.ts';
import type { ClientResult } from './client-result.ts';
import { startMessagesEndpoint, toolUsesOf } from './messages-endpoint.ts';
import type { MessagesRequest } from './messages-endpoint.ts';

export interface ClaudeCodeOptions {
  readonly program: string;
  readonly mcpUrl: string;
  readonly token: string;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const offered = ['spawn', 'await', 'run', 'status', 'cancel', 'tools', 'decide'];
const tasks = [1, 2, 3].map((number) => `Look up topic ${number} and say in one sentence what it is.`);
const finalText = 'All three sub-agents have answered.';

/** Of an `await` result only what is judged here. Claude Code hands a model the structured content, not the text. */
const awaitResultSchema = z.object({
  runs: z.array(
    z.object({
      handle: z.string(),
      status: z.string(),
      result: z.string().nullish(),
      toolCalls: z.number().default(0),
    }),
  ),
});

/** What the scripted model has found in the requests so far. */
export interface SubAgentsSeen {
  requests: number;
  tools: string[];
  handles: string[];
  awaits: number;
  awaited: string | null;
  toolErrors: string[];
}

export const noSubAgentsSeen = (): SubAgentsSeen => ({
  requests: 0,
  tools: [],
  handles: [],
  awaits: 0,
  awaited: null,
  toolErrors: [],
});

const toolName = (name: string): string => `mcp__fermata__${name}`;

function use(id: string, name: string, input: object): Block {
  return { type: 'tool_use', id, name: toolName(name), input };
}

/** The model's next reply; which one follows from the tool results that the request carries. */
export function nextSubAgentsReply(request: MessagesRequest, seen: SubAgentsSeen): readonly Block[] {
  seen.requests += 1;
  const names = request.tools.map((tool) => tool.name);
  // A side request (a title, a summary) offers none of our tools.
  if (!names.includes(toolName('spawn'))) return [{ type: 'text', text: 'A fan-out.' }];
  seen.tools = names;
  const uses = toolUsesOf(request);
  seen.toolErrors = uses.filter((one) => one.failed).map((one) => `${one.name}: ${one.result}`);
  const spawned = uses.filter((one) => one.name === toolName('spawn'));
  const awaited = uses.filter((one) => one.name === toolName('await'));
  seen.handles = spawned.flatMap((one) => /\brun_[A-Za-z0-9]{22}\b/.exec(one.result ?? '')?.[0] ?? []);
  seen.awaits = awaited.length;
  seen.awaited = awaited.at(-1)?.result ?? null;
  if (spawned.length === 0) {
    return [
      { type: 'text', text: 'I will ask three sub-agents at once.' },
      ...tasks.map((task, index) => use(`toolu_spawn_${index}`, 'spawn', { task })),
    ];
  }
  if (awaited.length === 0 && seen.handles.length > 0) {
    return [use('toolu_await', 'await', { handles: seen.handles, timeoutSeconds: 60 })];
  }
  return [{ type: 'text', text: finalText }];
}

type AwaitedRun = z.infer<typeof awaitResultSchema>['runs'][number];

/** The spawned runs that the `await` brought back as completed with a text, each once. */
function completedOf(seen: SubAgentsSeen): AwaitedRun[] {
  try {
    const { runs } = awaitResultSchema.parse(JSON.parse(seen.awaited ?? ''));
    const completed = runs.filter((run) => run.status === 'Completed' && (run.result ?? '').trim() !== '');
    return seen.handles.flatMap((handle) => completed.find((run) => run.handle === handle) ?? []);
  } catch {
    // Not the agreed shape: the report shows the text itself.
    return [];
  }
}

export function subAgentsBars(client: string, seen: SubAgentsSeen, ended: Ended): Bar[] {
  const completed = completedOf(seen);
  const listed = offered.filter((name) => seen.tools.includes(toolName(name)));
  return [
    bar(`${client} of our tools listed`, listed.length, '=', offered.length),
    bar(`${client} distinct handles from three spawns`, new Set(seen.handles).size, '=', 3),
    bar(`${client} awaits`, seen.awaits, '=', 1),
    bar(`${client} completed runs in one await`, new Set(completed).size, '=', 3),
    bar(
      `${client} completed runs that used a tool`,
      completed.filter((run) => run.toolCalls > 0).length,
      '=',
      3,
    ),
    bar(`${client} failed tool calls`, seen.toolErrors.length, '=', 0),
    bar(`${client} final answers printed`, ended.stdout.includes(finalText) ? 1 : 0, '=', 1),
    bar(`${client} exit code`, ended.code, '=', 0),
  ];
}

/** The session of that script: its model is at `baseUrl`. */
export async function runSubAgentsSession(
  options: ClaudeCodeOptions,
  baseUrl: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  return await runClaudeSession({
    program: options.program,
    baseUrl,
    task: 'Ask three sub-agents for one topic each and tell me when all have answered.',
    allowedTools: 'mcp__fermata',
    mcp: { url: options.mcpUrl, token: options.token },
    env: { ...options.env, ...env },
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  });
}

export async function driveClaudeCode(options: ClaudeCodeOptions): Promise<ClientResult> {
  const seen = noSubAgentsSeen();
  const endpoint = await startMessagesEndpoint([], ({ request }) => nextSubAgentsReply(request, seen));
  try {
    const ended = await runSubAgentsSession(options, endpoint.url, {
      ANTHROPIC_API_KEY: 'unused',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });
    return { bars: subAgentsBars('claude-code', seen, ended), ended: [ended], seen: { ...seen } };
  } finally {
    await endpoint.close();
  }
}
