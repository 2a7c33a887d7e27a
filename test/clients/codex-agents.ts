/**
 * A session of Codex that starts a sub-agent of its own kind, with its model traffic through the proxy.
 * Both send the same session id; the sub-agent's turns are a run of their own, with its own pause.
 */
import { bar } from '../../bench/bars.ts';
import type { ClientResult } from './client-result.ts';
import { earlierRuns, model, play, runBars, runsOf } from './codex.ts';
import type { CodexOptions } from './codex.ts';
import { runCodexSession } from './codex-session.ts';
import type { FunctionCall } from './responses-endpoint.ts';
import type { OutputItem } from './responses-stream.ts';

const note = 'The word of the day is heron.\n';
const found = 'The note says heron.';
const agentId = /"agent_id":\s*"([0-9a-f-]+)"/;

function subAgentReply([call]: readonly FunctionCall[]): readonly OutputItem[] {
  if (call?.result?.includes('heron') === true) return [{ type: 'message', text: found }];
  const input = { cmd: 'cat note.txt' };
  return [{ type: 'function_call', callId: 'call_read', name: 'exec_command', input }];
}

/** Starts the sub-agent, waits for it, and passes on what it said. */
function sessionReply([started, waited]: readonly FunctionCall[]): readonly OutputItem[] {
  const call = (callId: string, name: string, input: object): OutputItem => ({
    type: 'function_call',
    callId,
    namespace: 'multi_agent_v1',
    name,
    input,
  });
  if (started === undefined) {
    return [call('call_spawn', 'spawn_agent', { message: 'Read note.txt and say what it holds.' })];
  }
  if (waited === undefined) {
    const targets = [agentId.exec(started.result ?? '')?.[1] ?? ''];
    return [call('call_wait', 'wait_agent', { targets, timeout_ms: 30_000 })];
  }
  const said = waited.result?.includes(found) === true ? found : 'nothing';
  return [{ type: 'message', text: `My sub-agent says: ${said}` }];
}

export async function driveCodexAgents(options: CodexOptions): Promise<ClientResult> {
  const client = 'codex sub-agent';
  const earlier = earlierRuns(options);
  const { seen, crowd } = play(options, 1, ({ headers }, calls) =>
    headers['thread-id'] === headers['session-id'] ? sessionReply(calls) : subAgentReply(calls),
  );
  const ended = await runCodexSession({
    ...options,
    model,
    files: { 'note.txt': note },
    task: 'Have a sub-agent read note.txt and tell me what it holds.',
  });
  await crowd.disperse();
  const runs = await runsOf(options, seen, earlier);
  const printed = ended.stdout.includes(`My sub-agent says: ${found}`);
  return {
    bars: [
      // The session pauses for the start and for the wait, the sub-agent for its one call.
      ...runBars(client, seen, runs, [2, 1]),
      bar(`${client} final answers printed`, printed ? 1 : 0, '=', 1),
      bar(`${client} exit code`, ended.code, '=', 0),
    ],
    ended: [ended],
    seen: { ...seen, calls: Object.fromEntries(seen.calls), runs },
  };
}
