/**
 * A session of Claude Code that starts a sub-agent of its own kind, with its model traffic through the
 * proxy. Both send the same session id; the sub-agent's turns are a run of their own, with its own pause.
 */
import { join } from 'node:path';
import { bar } from '../../bench/bars.ts';
import { ofTheSession, play, settings } from './claude-code-proxy.ts';
import type { ClaudeProxyOptions } from './claude-code-proxy.ts';
import { runClaudeSession } from './claude-session.ts';
import type { ClientResult } from './client-result.ts';
import { toolUsesOf } from './messages-endpoint.ts';
import type { LoggedTurn } from './turn-log.ts';

const note = 'The word of the day is heron.\n';
const found = 'The note says heron.';

export async function driveClaudeCodeAgents(options: ClaudeProxyOptions): Promise<ClientResult> {
  const client = 'claude-code sub-agent';
  const before = options.log.runs(ofTheSession(options.pair)).map(({ run }) => run);
  let folder = '';
  const { session, crowd } = play(options, async (request, headers) => {
    const [use] = toolUsesOf(request);
    if (headers['x-claude-code-agent-id'] !== undefined) {
      if (use?.result?.includes('heron') === true) return [{ type: 'text', text: found }];
      return [
        { type: 'tool_use', id: 'toolu_read', name: 'Read', input: { file_path: join(folder, 'note.txt') } },
      ];
    }
    if (use !== undefined) return [{ type: 'text', text: `My sub-agent says: ${use.result ?? ''}` }];
    const input = {
      description: 'Reads a note',
      prompt: 'Read note.txt and say what it holds.',
      subagent_type: 'general-purpose',
    };
    return [{ type: 'tool_use', id: 'toolu_agent', name: 'Agent', input }];
  });
  const ended = await runClaudeSession(
    {
      program: options.program,
      baseUrl: options.proxyUrl,
      task: 'Have a sub-agent read note.txt and tell me what it holds.',
      allowedTools: 'Agent,Read',
      env: { ...options.env, ...settings, ANTHROPIC_AUTH_TOKEN: options.token },
      timeoutMs: options.timeoutMs,
      signal: options.signal,
      files: { 'note.txt': note },
    },
    {
      before: (cwd) => {
        folder = cwd;
      },
    },
  );
  await crowd.disperse();
  const ours = (turn: LoggedTurn): boolean =>
    ofTheSession(options.pair)(turn) && turn.api === 'messages' && !before.includes(turn.run ?? '');
  await options.log.until(session.requests, ours);
  const runs = options.log.runs(ours);
  const turns = runs.flatMap((run) => run.turns);
  return {
    bars: [
      bar(`${client} runs in the access log`, runs.length, '=', 2),
      bar(`${client} turns of its runs`, turns.length, '=', session.requests),
      bar(`${client} runs with one pause`, runs.filter((run) => run.pauses === 1).length, '=', 2),
      bar(
        `${client} runs that kept to one replica`,
        runs.filter((run) => run.replicas.length === 1).length,
        '=',
        2,
      ),
      bar(`${client} failed tool calls`, session.failedTools.length, '=', 0),
      bar(`${client} final answers printed`, ended.stdout.includes(found) ? 1 : 0, '=', 1),
      bar(`${client} exit code`, ended.code, '=', 0),
    ],
    ended: [ended],
    seen: { ...session, runs },
  };
}
