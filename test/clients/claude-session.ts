/**
 * One session of Claude Code, at a terminal or not, with an empty home and a working folder of its own. It knows
 * neither what the model says nor what is judged.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';
import { runInTerminal } from './terminal-process.ts';
import type { KeyStep } from './terminal-process.ts';

export interface ClaudeSession {
  readonly program: string;
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly task: string;
  readonly allowedTools: string;
  /** Absent: no MCP server. */
  readonly mcp?: {
    readonly url: string;
    readonly token: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Text by name of the files that lie in the working folder at its start. */
  readonly files?: Readonly<Record<string, string>>;
  /** What a person would write into settings.json; absent: nothing. */
  readonly settings?: object;
  /** A person at a terminal, who types the task too; absent: `-p`. */
  readonly keys?: readonly KeyStep[];
  /** Told the lines of the screen after each change. */
  readonly looked?: (lines: readonly string[]) => void;
}

function serverOf({ url, token, headers = {} }: NonNullable<ClaudeSession['mcp']>): object {
  return { type: 'http', url, headers: { Authorization: `Bearer ${token}`, ...headers } };
}

/** What it keeps once a person has answered its questions at the first start. */
function welcomed(cwd: string): string {
  const projects = { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } };
  return JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark', projects });
}

/** @param prepare told of the working folder before the session begins, and after it has ended. */
export async function runClaudeSession(
  session: ClaudeSession,
  prepare: { readonly before?: (cwd: string) => void; readonly after?: (cwd: string) => Promise<void> } = {},
): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-claude-code-'));
  try {
    const [home, cwd, mcpConfig] = [join(folder, 'home'), join(folder, 'work'), join(folder, 'mcp.json')];
    await Promise.all([mkdir(home), mkdir(cwd)]);
    const servers = session.mcp === undefined ? {} : { fermata: serverOf(session.mcp) };
    await writeFile(mcpConfig, JSON.stringify({ mcpServers: servers }));
    for (const [name, text] of Object.entries(session.files ?? {})) await writeFile(join(cwd, name), text);
    prepare.before?.(cwd);
    const options = {
      cwd,
      env: {
        ...session.env,
        HOME: home,
        TMPDIR: folder,
        ANTHROPIC_BASE_URL: session.baseUrl,
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
      },
      timeoutMs: session.timeoutMs,
      signal: session.signal,
      ...(session.looked === undefined ? {} : { looked: session.looked }),
    };
    const args = [
      `--mcp-config=${mcpConfig}`,
      '--strict-mcp-config',
      `--allowedTools=${session.allowedTools}`,
      ...(session.settings === undefined ? [] : [`--settings=${JSON.stringify(session.settings)}`]),
    ];
    if (session.keys !== undefined) await writeFile(join(home, '.claude.json'), welcomed(cwd));
    const ended =
      session.keys === undefined
        ? await runBounded(session.program, ['-p', session.task, ...args], options)
        : await runInTerminal(session.program, args, session.keys, options);
    await prepare.after?.(cwd);
    return ended;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
