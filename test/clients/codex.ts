/**
 * Codex with its model traffic through the proxy (`/v1/responses`), against a scripted model on two
 * replicas of the pool: three sessions side by side that work with its shell tool, and one that spawns
 * sub-agents over MCP, so that the same stack is its model and its MCP server. Judged is what the proxy's
 * access log says of each session, and what came of its work.
 */
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import type { Ended } from './bounded-process.ts';
import type { ClientResult } from './client-result.ts';
import { runCodexSession } from './codex-session.ts';
import { Crowd, fillerPrefix, once, startReplicaPair } from './replica-pair.ts';
import type { ReplicaPair, SendFiller } from './replica-pair.ts';
import { functionCallsOf, startResponsesEndpoint } from './responses-endpoint.ts';
import type { FunctionCall, ResponsesTurn } from './responses-endpoint.ts';
import type { OutputItem } from './responses-stream.ts';
import type { LoggedRun, LoggedTurn, TurnLog } from './turn-log.ts';

export type ResponsesPair = ReplicaPair<ResponsesTurn, readonly OutputItem[]>;

/** The model that only the scripted replicas serve. */
export const model = 'scripted-responses';
const filler = 'This turn only keeps a replica busy.';

export async function startResponsesPair(): Promise<ResponsesPair> {
  return await startReplicaPair<ResponsesTurn, readonly OutputItem[]>(
    'responses',
    async (script) => await startResponsesEndpoint(model, script),
  );
}

export interface CodexOptions {
  readonly program: string;
  readonly proxyUrl: string;
  readonly mcpUrl: string;
  readonly token: string;
  readonly pair: ResponsesPair;
  readonly log: TurnLog;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const sendFiller =
  ({ proxyUrl, token }: CodexOptions): SendFiller =>
  async (run, signal) => {
    const response = await fetch(`${proxyUrl}/v1/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-fermata-run-id': run,
      },
      body: JSON.stringify({ model, input: filler }),
      signal,
    });
    await response.arrayBuffer();
  };

/** What the scripted replicas saw. */
export interface Seen {
  requests: number;
  backAtTheBusier: number;
  /** Calls of every session or sub-agent as its last request had them, by its thread. */
  readonly calls: Map<string, readonly FunctionCall[]>;
}

type NextReply = (turn: ResponsesTurn, calls: readonly FunctionCall[]) => readonly OutputItem[];

/** Plays sessions over the pair: their first turns wait for each other, then one replica is kept busy. */
export function play(options: CodexOptions, sessions: number, next: NextReply): { seen: Seen; crowd: Crowd } {
  const seen: Seen = { requests: 0, backAtTheBusier: 0, calls: new Map() };
  const crowd = new Crowd(sendFiller(options));
  const allHere = new AbortController();
  let crowded: Promise<boolean> | null = null;
  options.pair.play(async (replica, turn) => {
    if (turn.request.input === filler) {
      await crowd.hold(replica);
      return [{ type: 'message', text: 'So it did.' }];
    }
    const calls = functionCallsOf(turn.request);
    seen.requests += 1;
    seen.calls.set(String(turn.headers['thread-id']), calls);
    if (seen.calls.size === sessions) allHere.abort();
    if (calls.length > 0 && options.pair.isTheBusier(replica)) seen.backAtTheBusier += 1;
    if (calls.length === 0) {
      await once(allHere.signal);
      crowded ??= crowd.busy(replica);
      await crowded;
    }
    return next(turn, calls);
  });
  return { seen, crowd };
}

/** The runs of the sessions that a script is played for now: not those of an earlier one. */
export async function runsOf(
  options: CodexOptions,
  seen: Seen,
  earlier: readonly string[],
): Promise<LoggedRun[]> {
  const ids = options.pair.replicas.map(({ id }) => id);
  const ours = (turn: LoggedTurn): boolean =>
    ids.includes(turn.replica ?? '') &&
    turn.runName?.startsWith(fillerPrefix) !== true &&
    !earlier.includes(turn.run ?? '');
  await options.log.until(seen.requests, ours);
  return options.log.runs((turn) => ours(turn) && turn.api === 'responses');
}

export function earlierRuns({ log }: CodexOptions): string[] {
  return log.runs((turn) => turn.api === 'responses').map(({ run }) => run);
}

/** @param pauses of each session, in any order. */
export function runBars(
  client: string,
  seen: Seen,
  runs: readonly LoggedRun[],
  pauses: readonly number[],
): Bar[] {
  const turns = runs.flatMap((run) => run.turns);
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  const inOrder = (numbers: readonly number[]): string => numbers.toSorted((a, b) => a - b).join();
  return [
    bar(`${client} sessions`, seen.calls.size, '=', pauses.length),
    bar(`${client} runs in the access log`, runs.length, '=', pauses.length),
    bar(`${client} turns of its runs`, turns.length, '=', seen.requests),
    bar(
      `${client} turns recognised by a session header`,
      turns.filter((turn) => turn.runBy === 'session').length,
      '=',
      seen.requests,
    ),
    bar(`${client} pauses of its runs`, sum(runs.map((run) => run.pauses)), '=', sum(pauses)),
    bar(
      `${client} runs with the pauses of a session each`,
      inOrder(runs.map((run) => run.pauses)) === inOrder(pauses) ? runs.length : 0,
      '=',
      pauses.length,
    ),
    bar(
      `${client} runs that kept to one replica`,
      runs.filter((run) => run.replicas.length === 1).length,
      '=',
      pauses.length,
    ),
    bar(`${client} turns back at the busier replica`, seen.backAtTheBusier, '>=', 1),
    bar(
      `${client} requests that did not end well`,
      turns.filter((turn) => turn.outcome !== 'paused' && turn.outcome !== 'done').length,
      '=',
      0,
    ),
  ];
}

const words = ['heron', 'bittern', 'egret', 'stork'];
const files = Object.fromEntries(words.map((word, index) => [`note-${index}.txt`, `The word is ${word}.\n`]));
/** How many notes each session reads, one a turn. */
const readings = [2, 3, 4];
const answerOf = (session: number, found: readonly string[]): string =>
  `Session ${session} has read: ${found.join(' ')}.`;

/** Three sessions side by side; each reads its notes with the shell, one a turn, and says what they hold. */
export async function driveCodex(options: CodexOptions): Promise<ClientResult> {
  const client = 'codex proxy';
  const earlier = earlierRuns(options);
  const { seen, crowd } = play(options, readings.length, ({ request }, calls) => {
    const session = Number(/session (\d)/.exec(JSON.stringify(request.input))?.[1] ?? -1);
    const index = calls.length;
    if (index < (readings[session] ?? 0)) {
      const input = { cmd: `cat note-${index}.txt` };
      return [{ type: 'function_call', callId: `call_${index}`, name: 'exec_command', input }];
    }
    const found = calls.flatMap((call) => /word is (\w+)\./.exec(call.result ?? '')?.[1] ?? []);
    return [{ type: 'message', text: answerOf(session, found) }];
  });
  const ended = await Promise.all(
    readings.map(
      async (count, session) =>
        await runCodexSession({
          ...options,
          model,
          files,
          task: `You are session ${session}: read ${count} notes, one after the other, and say what they hold.`,
        }),
    ),
  );
  await crowd.disperse();
  const runs = await runsOf(options, seen, earlier);
  const right = ended.filter(({ stdout }, session) =>
    stdout.includes(answerOf(session, words.slice(0, readings[session]))),
  );
  return {
    bars: [
      ...runBars(client, seen, runs, readings),
      bar(`${client} right answers printed`, right.length, '=', readings.length),
      bar(`${client} exit codes 0`, ended.filter(({ code }) => code === 0).length, '=', readings.length),
    ],
    ended,
    seen: { ...seen, calls: Object.fromEntries(seen.calls), runs },
  };
}

const finalText = 'Both sub-agents have answered.';
const runHandle = /\brun_[A-Za-z0-9]{22}\b/;

/** The reply of a model that spawns two sub-agents, awaits both and answers. */
function nextSubAgentsReply(calls: readonly FunctionCall[]): readonly OutputItem[] {
  const call = (callId: string, name: string, input: object): OutputItem => ({
    type: 'function_call',
    callId,
    namespace: 'mcp__fermata',
    name,
    input,
  });
  const spawned = calls.filter(({ name }) => name === 'spawn');
  if (spawned.length === 0) {
    return [1, 2].map((topic) =>
      call(`call_spawn_${topic}`, 'spawn', {
        task: `Look up topic ${topic} and say in one sentence what it is.`,
      }),
    );
  }
  const handles = spawned.flatMap(({ result }) => runHandle.exec(result ?? '')?.[0] ?? []);
  if (calls.length === spawned.length && handles.length > 0) {
    return [call('call_await', 'await', { handles, timeoutSeconds: 60 })];
  }
  return [{ type: 'message', text: finalText }];
}

/** One session that spawns two sub-agents over MCP; its own model traffic goes through the same stack. */
export async function driveCodexBothDoors(options: CodexOptions): Promise<ClientResult> {
  const client = 'codex both doors';
  const earlier = earlierRuns(options);
  const { seen, crowd } = play(options, 1, (_turn, calls) => nextSubAgentsReply(calls));
  const ended: Ended = await runCodexSession({
    ...options,
    model,
    task: 'Ask two sub-agents for one topic each and tell me when both have answered.',
  });
  await crowd.disperse();
  const runs = await runsOf(options, seen, earlier);
  const [calls = []] = seen.calls.values();
  const handles = calls.flatMap(({ name, result }) =>
    name === 'spawn' ? (runHandle.exec(result ?? '')?.[0] ?? []) : [],
  );
  const awaited = calls.find(({ name }) => name === 'await')?.result ?? '';
  const subAgents = options.log.runs((turn) => handles.includes(turn.run ?? ''));
  return {
    bars: [
      ...runBars(client, seen, runs, [2]),
      bar(`${client} distinct handles from two spawns`, new Set(handles).size, '=', 2),
      bar(
        `${client} completed runs in one await`,
        handles.filter((handle) => awaited.includes(handle)).length -
          (awaited.match(/Failed|Cancelled/g)?.length ?? 0),
        '=',
        2,
      ),
      bar(`${client} sub-agents' runs in the same access log`, subAgents.length, '=', 2),
      bar(`${client} final answers printed`, ended.stdout.includes(finalText) ? 1 : 0, '=', 1),
      bar(`${client} exit code`, ended.code, '=', 0),
    ],
    ended: [ended],
    seen: { ...seen, calls, runs, subAgents },
  };
}
