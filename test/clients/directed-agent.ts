/**
 * An agent without a script of its own: the simulated engine is told in the task itself what to answer, two
 * tool calls one after the other and then the answer. For agents that send no session header, so that the
 * proxy has to recognise the run by what comes back. Judged by the access log, as everywhere.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bar } from '../../bench/bars.ts';
import { runBounded } from './bounded-process.ts';
import type { BoundedOptions, Ended } from './bounded-process.ts';
import type { ClientResult } from './client-result.ts';
import type { LoggedTurn, TurnLog } from './turn-log.ts';

export interface DirectedAgentOptions {
  readonly name: string;
  readonly program: string;
  readonly proxyUrl: string;
  readonly token: string;
  readonly model: string;
  readonly log: TurnLog;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How one agent is started; the base URL is that of the proxy with `/v1`. */
export interface DirectedAgent {
  /** Tools of the agent that read the note in the working folder, with their arguments. */
  calls(cwd: string): readonly { readonly tool: string; readonly arguments: object }[];
  /** Arguments of each of its starts, the last of which gets the task. */
  starts(task: string, options: DirectedAgentOptions): readonly (readonly string[])[];
  env(options: DirectedAgentOptions): Readonly<Record<string, string>>;
  /** Text by name of the files in its home; absent: none. */
  files?(options: DirectedAgentOptions): Readonly<Record<string, string>>;
}

const note = 'The word of the day is heron.';
const answer = 'It says heron.';

export const qwenCode: DirectedAgent = {
  calls: (cwd) => [
    { tool: 'read_file', arguments: { file_path: join(cwd, 'note.txt') } },
    { tool: 'run_shell_command', arguments: { command: 'cat note.txt', is_background: false } },
  ],
  starts: (task) => [['--auth-type', 'openai', '--yolo', '-p', task]],
  env: ({ proxyUrl, token, model }) => ({
    OPENAI_BASE_URL: `${proxyUrl}/v1`,
    OPENAI_API_KEY: token,
    OPENAI_MODEL: model,
  }),
};

export const cline: DirectedAgent = {
  calls: () => [
    { tool: 'run_commands', arguments: { commands: ['cat note.txt'] } },
    { tool: 'run_commands', arguments: { commands: ['wc -c note.txt'] } },
  ],
  starts: (task, { proxyUrl, token, model }) => [
    ['auth', '-p', 'openai', '-k', token, '-m', model, '-b', `${proxyUrl}/v1`],
    ['-P', 'openai', '-m', model, task],
  ],
  // Else it starts a daemon that outlives it.
  env: () => ({ CLINE_SESSION_BACKEND_MODE: 'local' }),
};

/** Its configuration is YAML, which JSON is too. */
export const continueCli: DirectedAgent = {
  calls: (cwd) => [
    { tool: 'Read', arguments: { filepath: join(cwd, 'note.txt') } },
    { tool: 'Bash', arguments: { command: 'cat note.txt' } },
  ],
  starts: (task) => [['--config', '../home/config.yaml', '--auto', '-p', task]],
  env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
  files: ({ proxyUrl, token, model }) => ({
    'config.yaml': JSON.stringify({
      name: 'fermata',
      version: '1.0.0',
      schema: 'v1',
      models: [
        {
          name: 'fermata',
          provider: 'openai',
          model,
          apiBase: `${proxyUrl}/v1`,
          apiKey: token,
          roles: ['chat'],
          capabilities: ['tool_use'],
        },
      ],
    }),
  }),
};

/** Clients are driven one after the other: a run that was there before is not this one's. */
function newRuns(before: ReadonlySet<string>): (turn: LoggedTurn) => boolean {
  return (turn) => turn.api === 'chat' && turn.run !== null && !before.has(turn.run);
}

async function start(
  agent: DirectedAgent,
  options: DirectedAgentOptions,
  cwd: string,
  home: string,
): Promise<Ended[]> {
  const calls = agent.calls(cwd);
  const task = `Read the note. [[sim ${JSON.stringify({ calls, answer })}]]`;
  const bounded: BoundedOptions = {
    cwd,
    // Some agents read HTTP_PROXY and not NO_PROXY: the guard would keep them from the proxy itself.
    env: { PATH: options.env['PATH'] ?? '', HOME: home, TMPDIR: home, ...agent.env(options) },
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  };
  const ended: Ended[] = [];
  for (const args of agent.starts(task, options))
    ended.push(await runBounded(options.program, args, bounded));
  return ended;
}

export async function driveDirectedAgent(
  agent: DirectedAgent,
  options: DirectedAgentOptions,
): Promise<ClientResult> {
  const { name, log } = options;
  const before = new Set(log.runs(() => true).map(({ run }) => run));
  const folder = await mkdtemp(join(tmpdir(), `fermata-${name}-`));
  try {
    const [home, cwd] = [join(folder, 'home'), join(folder, 'work')];
    await Promise.all([mkdir(home), mkdir(cwd)]);
    await writeFile(join(cwd, 'note.txt'), `${note}\n`);
    for (const [file, text] of Object.entries(agent.files?.(options) ?? {})) {
      await writeFile(join(home, file), text);
    }
    const ended = await start(agent, options, cwd, home);
    const ours = newRuns(before);
    await log.until(3, ours);
    const runs = log.runs(ours);
    const [run] = runs;
    const outcomes = run?.turns.map(({ outcome }) => outcome).join();
    const printed = ended.at(-1)?.stdout.includes(answer) === true;
    const failed = ended.filter(({ code }) => code !== 0);
    return {
      bars: [
        bar(`${name} runs in the access log`, runs.length, '=', 1),
        bar(`${name} pauses of its run`, run?.pauses ?? null, '=', 2),
        bar(`${name} runs paused twice and then done`, outcomes === 'paused,paused,done' ? 1 : 0, '=', 1),
        bar(`${name} replicas of its run`, run?.replicas.length ?? null, '=', 1),
        bar(`${name} final answers printed`, printed ? 1 : 0, '=', 1),
        bar(`${name} exit codes other than 0`, failed.length, '=', 0),
      ],
      ended,
      seen: { runs },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
