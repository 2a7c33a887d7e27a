/**
 * OpenCode as an agent with its own loop on the proxy: a scripted engine, on two replicas of the pool,
 * has it read one file with its own tool and answer. Its request for a title, sent with the same session
 * id, stays in flight over the whole pause, so that its replica is the busier one when the conversation
 * comes back: whoever only looks at load sends it elsewhere.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import type { RunStatusEntry } from '../../contracts/scheduler-status.ts';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';
import { startChatEndpoint } from './chat-endpoint.ts';
import type { ChatReply, ChatTurn } from './chat-endpoint.ts';
import type { ClientResult } from './client-result.ts';
import type { LoopbackServer } from './loopback-server.ts';

/** The model that only the scripted replicas serve. */
export const scriptedModel = 'scripted';
const note = 'The word of the day is heron.';
const answer = 'The note says: heron.';
const waitLimitMs = 15_000;

/** Waits for the signal, at most {@link waitLimitMs}. */
async function once(signal: AbortSignal): Promise<void> {
  await delay(waitLimitMs, undefined, { signal }).catch(() => {});
}

interface Turn {
  readonly replica: string;
  readonly session: string;
  readonly kind: 'side' | 'first' | 'after the tool';
  /** Side requests in flight when it arrived. */
  readonly sidesInFlight: number;
}

/** The scripted engine: two replicas with one script, started before the pool is. */
export interface OpenCodeEngine {
  readonly replicas: readonly { readonly id: string; readonly url: string }[];
  readonly turns: readonly Turn[];
  /** Text of the tool's result as the model got it. */
  readonly toolResult: string | null;
  /** Where the file to read lies; set before the client starts. */
  readFrom(path: string): void;
  close(): Promise<void>;
}

export async function startOpenCodeEngine(): Promise<OpenCodeEngine> {
  const turns: Turn[] = [];
  let [notePath, toolResult]: [string, string | null] = ['', null];
  let sidesInFlight = 0;
  const [sideArrived, cameBack] = [new AbortController(), new AbortController()];
  const script = async (replica: string, { request, headers }: ChatTurn): Promise<ChatReply> => {
    const last = request.messages.at(-1);
    const kind = request.tools.length === 0 ? 'side' : last?.role === 'tool' ? 'after the tool' : 'first';
    turns.push({ replica, kind, session: String(headers['x-session-id']), sidesInFlight });
    switch (kind) {
      case 'side':
        sidesInFlight += 1;
        sideArrived.abort();
        await once(cameBack.signal);
        sidesInFlight -= 1;
        return { text: 'Reading a note' };
      case 'first':
        await once(sideArrived.signal);
        return { tools: [{ id: 'call_0', name: 'read', input: { filePath: notePath } }] };
      case 'after the tool':
        toolResult = JSON.stringify(last?.content);
        cameBack.abort();
        return { text: answer };
    }
  };
  const start = async (id: string): Promise<{ id: string; server: LoopbackServer }> => ({
    id,
    server: await startChatEndpoint(scriptedModel, async (turn) => await script(id, turn)),
  });
  const started = await Promise.all([start('scripted-a'), start('scripted-b')]);
  return {
    replicas: started.map(({ id, server }) => ({ id, url: server.url })),
    turns,
    get toolResult() {
      return toolResult;
    },
    readFrom: (path) => {
      notePath = path;
    },
    close: async () => {
      await Promise.all(started.map(async ({ server }) => await server.close()));
    },
  };
}

/** The runs on the scripted replicas, once none has a turn in flight; what there is after 10 s. */
async function runsOn(
  { schedulerUrl, token }: OpenCodeOptions,
  replicas: readonly string[],
): Promise<RunStatusEntry[]> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${schedulerUrl}/status`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { runs } = schedulerStatusSchema.parse(await response.json());
    const ours = runs.filter((run) => run.replicas.some((id) => replicas.includes(id)));
    const settled = ours.length > 0 && ours.every((run) => run.phase === 'idle' || run.phase === 'paused');
    if (settled || attempt === 100) return ours;
    await delay(100);
  }
}

function barsOf(engine: OpenCodeEngine, runs: readonly RunStatusEntry[], ended: Ended): Bar[] {
  const conversation = engine.turns.filter((turn) => turn.kind !== 'side');
  const back = conversation.find((turn) => turn.kind === 'after the tool');
  const sessions = new Set(engine.turns.map((turn) => turn.session));
  const [run] = runs.toSorted((a, b) => b.pauses - a.pauses);
  return [
    bar('opencode runs seen by the scheduler', runs.length, '=', 1),
    bar('opencode pauses of its run', run?.pauses ?? null, '>=', 1),
    bar('opencode replicas of its run', run?.replicas.length ?? null, '=', 1),
    bar('opencode turns of its run', run?.turns ?? null, '=', engine.turns.length),
    bar('opencode turns of the conversation', conversation.length, '=', 2),
    bar(
      'opencode replicas its turns reached',
      new Set(engine.turns.map((turn) => turn.replica)).size,
      '=',
      1,
    ),
    bar('opencode side requests in flight over the pause', back?.sidesInFlight ?? null, '>=', 1),
    bar('opencode sessions', sessions.size, '=', 1),
    bar('opencode files read', engine.toolResult?.includes(note) === true ? 1 : 0, '=', 1),
    bar('opencode final answers printed', ended.stdout.includes(answer) ? 1 : 0, '=', 1),
    bar('opencode exit code', ended.code, '=', 0),
  ];
}

export interface OpenCodeOptions {
  readonly program: string;
  readonly engine: OpenCodeEngine;
  readonly proxyUrl: string;
  readonly schedulerUrl: string;
  readonly token: string;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const configOf = ({ proxyUrl, token }: OpenCodeOptions): object => ({
  $schema: 'https://opencode.ai/config.json',
  autoupdate: false,
  share: 'disabled',
  model: `fermata/${scriptedModel}`,
  provider: {
    fermata: {
      npm: '@ai-sdk/openai-compatible',
      name: 'fermata',
      options: { baseURL: `${proxyUrl}/v1`, apiKey: token },
      models: { [scriptedModel]: { name: scriptedModel } },
    },
  },
});

export async function driveOpenCode(options: OpenCodeOptions): Promise<ClientResult> {
  const { engine } = options;
  const folder = await mkdtemp(join(tmpdir(), 'fermata-opencode-'));
  try {
    const [home, cwd] = [join(folder, 'home'), join(folder, 'work')];
    await Promise.all([mkdir(home), mkdir(cwd)]);
    await writeFile(join(cwd, 'note.txt'), `${note}\n`);
    await writeFile(join(cwd, 'opencode.json'), JSON.stringify(configOf(options)));
    engine.readFrom(join(cwd, 'note.txt'));
    const ended = await runBounded(
      options.program,
      ['run', 'Read note.txt and tell me the word of the day.'],
      {
        cwd,
        env: {
          ...options.env,
          HOME: home,
          TMPDIR: folder,
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        },
        timeoutMs: options.timeoutMs,
        signal: options.signal,
      },
    );
    const runs = await runsOn(
      options,
      engine.replicas.map(({ id }) => id),
    );
    return { bars: barsOf(engine, runs, ended), ended: [ended], seen: { turns: engine.turns, runs } };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
