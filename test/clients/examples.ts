/**
 * What is in `examples/`, run as it stands: agents with the packages that their package.json pins, judged by
 * the proxy's access log; client files in the real client, judged by what passes between it and our server.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';
import type { ClientResult } from './client-result.ts';
import { startMcpTap } from './mcp-tap.ts';
import type { TappedMessage } from './mcp-tap.ts';
import { npmInstall } from './pinned-clients.ts';
import type { InstallOptions } from './pinned-clients.ts';
import type { LoggedRun, TurnLog } from './turn-log.ts';

export const examplesFolder = resolve(import.meta.dirname, '..', '..', 'examples');

const manifestSchema = z.looseObject({ dependencies: z.record(z.string(), z.string()) });

export function exampleDependencies(name: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(examplesFolder, name, 'package.json'), 'utf8');
  return manifestSchema.parse(JSON.parse(text)).dependencies;
}

/** @returns a folder with the packages and the agent of the example. @throws Error that says what npm said. */
export async function installedExample(name: string, options: InstallOptions): Promise<string> {
  const specs = Object.entries(exampleDependencies(name)).map(([one, version]) => `${one}@${version}`);
  const digest = createHash('sha256').update(specs.join(' ')).digest('hex').slice(0, 12);
  const clients = resolve(options.stateDir, 'clients');
  const folder = join(clients, `example-${name}-${digest}`);
  if (!existsSync(folder)) {
    options.print(`installing ${specs.join(' ')}, this once, into ${folder}`);
    const unfinished = join(clients, `unfinished-example-${name}-${process.pid}`);
    try {
      await npmInstall(unfinished, name, specs, options);
      await rename(unfinished, folder);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
  await cp(join(examplesFolder, name), folder, { recursive: true });
  return folder;
}

interface DriveParts {
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface AgentExample extends DriveParts {
  readonly name: string;
  readonly folder: string;
  readonly proxyUrl: string;
  readonly token: string;
  readonly model: string;
  readonly log: TurnLog;
}

const answer = 'The Congo is the shorter one.';
/** Two pauses, then the answer; the simulated engines read it. */
export const exampleTask = `Which river is longer? [[sim {"calls":["lookup","lookup"],"answer":"${answer}"}]]`;

export async function driveAgentExample(example: AgentExample): Promise<ClientResult> {
  const { name, folder, proxyUrl, token, model, log } = example;
  const ended = await runBounded(process.execPath, [join(folder, 'agent.mjs')], {
    cwd: folder,
    env: {
      ...example.env,
      HOME: folder,
      FERMATA_PROXY_URL: proxyUrl,
      FERMATA_TOKEN: token,
      MODEL: model,
      TASK: exampleTask,
    },
    timeoutMs: example.timeoutMs,
    signal: example.signal,
  });
  const run = /^run (example-\S+)$/m.exec(ended.stdout)?.[1];
  const isOurs = ({ runName }: { readonly runName: string | null }): boolean => runName === run;
  await log.until(3, isOurs);
  const runs = log.runs(isOurs);
  return { bars: agentBars(name, ended, runs), ended: [ended], seen: { runs } };
}

function agentBars(name: string, ended: Ended, runs: readonly LoggedRun[]): Bar[] {
  const [run] = runs;
  const callers = run?.turns.filter(({ caller }) => caller === 'examples') ?? [];
  return [
    bar(`examples ${name} exit code`, ended.code, '=', 0),
    bar(`examples ${name} right answers`, ended.stdout.split(answer).length - 1, '=', 1),
    bar(`examples ${name} tool calls`, ended.stdout.match(/^lookup /gm)?.length ?? 0, '=', 2),
    bar(`examples ${name} runs`, runs.length, '=', 1),
    bar(`examples ${name} turns of its run`, callers.length, '=', 3),
    bar(`examples ${name} pauses of its run`, run?.pauses ?? null, '=', 2),
    bar(`examples ${name} replicas of its run`, run?.replicas.length ?? null, '=', 1),
  ];
}

/** How the real client is given the file of an example, and made to connect. */
export interface ClientFile {
  readonly name: string;
  /** Below examples/clients. */
  readonly file: string;
  /** Where the client looks for it: below its home, or in its working folder. */
  readonly place: { readonly under: 'home' | 'work'; readonly path: string };
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What somebody who uses the client has in it besides: a token, an account. */
  readonly completed?: (text: string) => string;
}

export const clientFiles: Readonly<Record<'claudeCode' | 'codex' | 'openCode' | 'geminiCli', ClientFile>> = {
  claudeCode: {
    name: 'claude-code',
    file: 'claude-code/.mcp.json',
    place: { under: 'work', path: '.mcp.json' },
    args: ['-p', 'Say hello.', '--mcp-config=.mcp.json', '--strict-mcp-config'],
    env: { DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1' },
  },
  codex: {
    name: 'codex',
    file: 'codex/config.toml',
    place: { under: 'home', path: '.codex/config.toml' },
    args: [
      'exec',
      '--skip-git-repo-check',
      '-c',
      'model="none"',
      '-c',
      'model_provider="fermata"',
      'Say hello.',
    ],
    env: {},
    completed: (text) => text.replace('# bearer_token_env_var', 'bearer_token_env_var'),
  },
  openCode: {
    name: 'opencode',
    file: 'opencode/opencode.json',
    place: { under: 'work', path: 'opencode.json' },
    args: ['mcp', 'list'],
    env: {
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
  },
  geminiCli: {
    name: 'gemini-cli',
    file: 'gemini-cli/settings.json',
    place: { under: 'home', path: '.gemini/settings.json' },
    args: ['--skip-trust', '-p', 'Say hello.', '-m', 'gemini-2.5-flash'],
    env: { GEMINI_API_KEY: 'unused' },
    completed: (text) =>
      JSON.stringify({
        ...(JSON.parse(text) as object),
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { enableAutoUpdate: false },
        telemetry: { enabled: false },
      }),
  },
};

export interface ClientExample extends DriveParts {
  readonly client: ClientFile;
  readonly program: string;
  readonly mcpUrl: string;
  readonly proxyUrl: string;
  readonly token: string;
}

/** Long enough to connect; what the client does without a model afterwards is of no interest. */
const connectMs = 30_000;

export async function driveClientExample(example: ClientExample): Promise<ClientResult> {
  const { client, program, proxyUrl, token } = example;
  const folder = await mkdtemp(join(tmpdir(), 'fermata-example-'));
  const tap = await startMcpTap(example.mcpUrl);
  try {
    const folders = { home: join(folder, 'home'), work: join(folder, 'work') };
    await Promise.all([mkdir(folders.home), mkdir(folders.work)]);
    const text = await readFile(join(examplesFolder, 'clients', client.file), 'utf8');
    const target = join(folders[client.place.under], client.place.path);
    await mkdir(dirname(target), { recursive: true });
    const ours = text
      .replaceAll('http://127.0.0.1:7000/mcp', tap.url)
      .replaceAll('http://127.0.0.1:8080', proxyUrl);
    await writeFile(target, client.completed?.(ours) ?? ours);
    const ended = await runBounded(program, client.args, {
      cwd: folders.work,
      env: {
        ...example.env,
        ...client.env,
        HOME: folders.home,
        TMPDIR: folder,
        FERMATA_TOKEN: token,
        ANTHROPIC_BASE_URL: proxyUrl,
        ANTHROPIC_AUTH_TOKEN: token,
        GOOGLE_GEMINI_BASE_URL: proxyUrl,
      },
      timeoutMs: Math.min(connectMs, example.timeoutMs),
      signal: example.signal,
    });
    return { bars: clientBars(client.name, tap.messages), ended: [ended], seen: { messages: tap.messages } };
  } finally {
    await tap.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** As many as fermata has tools. */
const toolCount = 8;

function clientBars(name: string, messages: readonly TappedMessage[]): Bar[] {
  const lists = messages.flatMap(({ message }) => {
    const tools = message.result?.['tools'];
    return Array.isArray(tools) ? [tools.length] : [];
  });
  const errors = messages.filter(({ from, message }) => from === 'server' && message.error !== undefined);
  return [
    bar(`examples ${name} file tools that the client was told of`, lists[0] ?? null, '=', toolCount),
    bar(`examples ${name} file errors of our server`, errors.length, '=', 0),
  ];
}
