/**
 * Claude Code with its model traffic through the proxy, against a scripted model on two replicas of the
 * pool. In one session it works with its own tools alone; in the other one the same stack is its model
 * and its MCP server at once. While a session pauses, its replica is the busier one. Judged is what the
 * proxy's access log says of the session, and what came of its work.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import type { Block } from './anthropic-stream.ts';
import { nextSubAgentsReply, noSubAgentsSeen, runSubAgentsSession, subAgentsBars } from './claude-code.ts';
import type { ClaudeCodeOptions } from './claude-code.ts';
import { runClaudeSession } from './claude-session.ts';
import type { ClientResult } from './client-result.ts';
import { startMessagesEndpoint, toolUsesOf } from './messages-endpoint.ts';
import type { MessagesRequest, MessagesTurn, ToolUse } from './messages-endpoint.ts';
import { Crowd, fillerPrefix, startReplicaPair } from './replica-pair.ts';
import type { ReplicaPair, SendFiller } from './replica-pair.ts';
import type { LoggedRun, LoggedTurn, TurnLog } from './turn-log.ts';

export type MessagesPair = ReplicaPair<MessagesTurn, readonly Block[]>;

/** The models that only the scripted replicas serve: of the session, and of its side requests. */
const models = { main: 'scripted-messages', small: 'scripted-messages-small' };
const filler = 'This turn only keeps a replica busy.';

export async function startMessagesPair(): Promise<MessagesPair> {
  return await startReplicaPair<MessagesTurn, readonly Block[]>(
    'messages',
    async (script) => await startMessagesEndpoint(Object.values(models), script),
  );
}

export interface ClaudeProxyOptions extends ClaudeCodeOptions {
  readonly proxyUrl: string;
  readonly pair: MessagesPair;
  readonly log: TurnLog;
}

const sendFiller =
  ({ proxyUrl, token }: ClaudeProxyOptions): SendFiller =>
  async (run, signal) => {
    const response = await fetch(`${proxyUrl}/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-fermata-run-id': run,
      },
      body: JSON.stringify({
        model: models.main,
        max_tokens: 16,
        messages: [{ role: 'user', content: filler }],
      }),
      signal,
    });
    await response.arrayBuffer();
  };

/** What the scripted replicas saw of a session. */
export interface Session {
  requests: number;
  sides: number;
  /** Turns after a pause that found the other replica emptier. */
  backAtTheBusier: number;
  failedTools: string[];
  /** Of the last turn: what was asked for and what came of it. */
  tools: readonly ToolUse[];
}

type NextReply = (request: MessagesRequest, headers: MessagesTurn['headers']) => Promise<readonly Block[]>;

/** Plays a session over the pair, and keeps its replica the busier one from its first turn on. */
export function play(options: ClaudeProxyOptions, next: NextReply): { session: Session; crowd: Crowd } {
  const session: Session = { requests: 0, sides: 0, backAtTheBusier: 0, failedTools: [], tools: [] };
  const crowd = new Crowd(sendFiller(options));
  options.pair.play(async (replica, { request, headers }) => {
    if (JSON.stringify(request.messages).includes(filler)) {
      await crowd.hold(replica);
      return [{ type: 'text', text: 'So it did.' }];
    }
    session.requests += 1;
    if (request.tools.length === 0) {
      session.sides += 1;
      return [{ type: 'text', text: 'A session.' }];
    }
    const uses = toolUsesOf(request);
    session.tools = uses;
    session.failedTools = uses.filter((use) => use.failed).map((use) => `${use.name}: ${use.result}`);
    const isSubAgent = headers['x-claude-code-agent-id'] !== undefined;
    if (uses.length === 0 && !isSubAgent) await crowd.busy(replica);
    else if (options.pair.isTheBusier(replica)) session.backAtTheBusier += 1;
    return await next(request, headers);
  });
  return { session, crowd };
}

export const settings = {
  ANTHROPIC_MODEL: models.main,
  ANTHROPIC_DEFAULT_HAIKU_MODEL: models.small,
};

export function ofTheSession(pair: MessagesPair): (turn: LoggedTurn) => boolean {
  const ids = pair.replicas.map(({ id }) => id);
  return (turn) => ids.includes(turn.replica ?? '') && turn.runName?.startsWith(fillerPrefix) !== true;
}

/** The bars of a session as one run; `pauses` are the replies of the script that used tools. */
function runBars(client: string, session: Session, runs: readonly LoggedRun[], pauses: number): Bar[] {
  const [run] = runs;
  return [
    bar(`${client} runs in the access log`, runs.length, '=', 1),
    bar(`${client} turns of its run`, run?.turns.length ?? null, '=', session.requests),
    bar(
      `${client} turns recognised by its session header`,
      run?.turns.filter((turn) => turn.runBy === 'session').length ?? null,
      '=',
      session.requests,
    ),
    bar(`${client} pauses of its run`, run?.pauses ?? null, '=', pauses),
    bar(`${client} replicas of its run`, run?.replicas.length ?? null, '=', 1),
    bar(`${client} turns back at the busier replica`, session.backAtTheBusier, '=', pauses),
    bar(`${client} side requests`, session.sides, '>=', 1),
    bar(
      `${client} requests that did not end well`,
      run?.turns.filter((turn) => turn.outcome !== 'paused' && turn.outcome !== 'done').length ?? null,
      '=',
      0,
    ),
  ];
}

/** How one session's steps look to the model: each is asked for alone, after the result of the one before. */
const steps = [
  { name: 'Read', input: (cwd: string) => ({ file_path: join(cwd, 'first.txt') }) },
  { name: 'Bash', input: () => ({ command: 'cat second.txt', description: 'Shows the second note' }) },
  {
    name: 'Write',
    input: (cwd: string, words: readonly string[]) => ({
      file_path: join(cwd, 'both.txt'),
      content: words.join(' and '),
    }),
  },
  { name: 'Bash', input: () => ({ command: 'cat both.txt', description: 'Shows what was written' }) },
];
const notes = { 'first.txt': 'The first word is heron.\n', 'second.txt': 'The second word is bittern.\n' };
const together = 'heron and bittern';

/** The words that the notes gave away so far, as the tools' results brought them. */
function wordsIn(request: MessagesRequest): string[] {
  return toolUsesOf(request).flatMap((use) => /word is (\w+)\./.exec(use.result ?? '')?.[1] ?? []);
}

/** Asks the proxy to count tokens, as Claude Code does in the middle of a session. */
async function countTokens({ proxyUrl, token }: ClaudeProxyOptions, sessionId: string): Promise<number> {
  const response = await fetch(`${proxyUrl}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-claude-code-session-id': sessionId,
    },
    body: JSON.stringify({ model: models.main, messages: [{ role: 'user', content: 'How long is this?' }] }),
  });
  const body: unknown = await response.json();
  return response.ok && typeof body === 'object' && body !== null && 'input_tokens' in body
    ? Number(body.input_tokens)
    : -response.status;
}

/** A session with its own tools: it reads two notes, writes what they say into a third file and reads that. */
export async function driveClaudeCodeProxy(options: ClaudeProxyOptions): Promise<ClientResult> {
  const client = 'claude-code proxy';
  let [folder, written, counted] = ['', '', 0];
  const { session, crowd } = play(options, async (request, headers) => {
    const uses = toolUsesOf(request);
    if (uses.length === 2) {
      counted = await countTokens(options, String(headers['x-claude-code-session-id']));
    }
    const step = steps[uses.length];
    if (step === undefined) return [{ type: 'text', text: `It says: ${uses.at(-1)?.result ?? ''}` }];
    const input = step.input(folder, wordsIn(request));
    return [{ type: 'tool_use', id: `toolu_${uses.length}`, name: step.name, input }];
  });
  const head = await fetch(`${options.proxyUrl}/`, { method: 'HEAD' });
  const ended = await runClaudeSession(
    {
      program: options.program,
      baseUrl: options.proxyUrl,
      task: 'Put the words of both notes into both.txt and tell me what it says.',
      allowedTools: 'Read,Bash,Write',
      env: { ...options.env, ...settings, ANTHROPIC_AUTH_TOKEN: options.token },
      timeoutMs: options.timeoutMs,
      signal: options.signal,
      files: notes,
    },
    {
      before: (cwd) => {
        folder = cwd;
      },
      after: async (cwd) => {
        written = await readFile(join(cwd, 'both.txt'), 'utf8').catch(() => '');
      },
    },
  );
  await crowd.disperse();
  const ours = ofTheSession(options.pair);
  await options.log.until(session.requests, ours);
  const runs = options.log.runs((turn) => ours(turn) && turn.api === 'messages');
  return {
    bars: [
      ...runBars(client, session, runs, steps.length),
      bar(`${client} tokens counted in mid-session`, counted, '>=', 1),
      bar(`${client} status of HEAD /`, head.status, '<=', 499),
      bar(`${client} failed tool calls`, session.failedTools.length, '=', 0),
      bar(`${client} files written right`, written.trim() === together ? 1 : 0, '=', 1),
      bar(`${client} final answers printed`, ended.stdout.includes(`It says: ${together}`) ? 1 : 0, '=', 1),
      bar(`${client} exit code`, ended.code, '=', 0),
    ],
    ended: [ended],
    seen: { ...session, runs },
  };
}

/** The session of three sub-agents, with the stack as its model and as its MCP server. */
export async function driveClaudeCodeBothDoors(options: ClaudeProxyOptions): Promise<ClientResult> {
  const client = 'claude-code both doors';
  const seen = noSubAgentsSeen();
  const { session, crowd } = play(options, async (request) => nextSubAgentsReply(request, seen));
  const before = options.log.runs(ofTheSession(options.pair)).map(({ run }) => run);
  const ended = await runSubAgentsSession(options, options.proxyUrl, {
    ...settings,
    // The other way to send a token: as x-api-key.
    ANTHROPIC_API_KEY: options.token,
  });
  await crowd.disperse();
  const ours = (turn: LoggedTurn): boolean =>
    ofTheSession(options.pair)(turn) && !before.includes(turn.run ?? '');
  await options.log.until(session.requests, ours);
  const runs = options.log.runs((turn) => ours(turn) && turn.api === 'messages');
  const subAgents = options.log.runs((turn) => seen.handles.includes(turn.run ?? ''));
  return {
    bars: [
      ...subAgentsBars(client, seen, ended),
      // The reply with three spawns, and the one that awaits.
      ...runBars(client, session, runs, 2),
      bar(`${client} sub-agents' runs in the same access log`, subAgents.length, '=', 3),
    ],
    ended: [ended],
    seen: { ...session, ...seen, runs, subAgents },
  };
}
