/**
 * One session of Codex, at a terminal or with `codex exec`, with an empty home and a working folder of its own. It knows neither what
 * the model says nor what is judged.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';
import { runInTerminal } from './terminal-process.ts';
import type { KeyStep } from './terminal-process.ts';

export interface CodexSession {
  readonly program: string;
  readonly proxyUrl: string;
  readonly model: string;
  readonly token: string;
  readonly task: string;
  /** Absent: no MCP server. */
  readonly mcpUrl?: string;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Text by name of the files that lie in the working folder at its start. */
  readonly files?: Readonly<Record<string, string>>;
  /** Lines of the entry of our MCP server, added to its address and token. */
  readonly mcpSettings?: readonly string[];
  /** A person at a terminal; absent: `codex exec`. */
  readonly keys?: readonly KeyStep[];
  /** Told the lines of the screen after each change. */
  readonly looked?: (lines: readonly string[]) => void;
}

/** What is there once a person has answered the questions at the first start; forms are shown under this policy. */
const personSettings = (cwd: string): string[] => [
  'approval_policy = "on-request"',
  'sandbox_mode = "danger-full-access"',
  // At a terminal it installs and starts a daemon of its own, which would outlive the session.
  'features = { daemon_auto_start = false }',
  `projects = { "${cwd}" = { trust_level = "trusted" } }`,
];

/** The settings that a person would write too; docs/clients.md shows the same. */
function configOf({ proxyUrl, model, mcpUrl, mcpSettings = [], keys }: CodexSession, cwd: string): string {
  return [
    `model = "${model}"`,
    'model_provider = "fermata"',
    // Not needed to work: nothing is looked for outside this machine.
    'check_for_update_on_startup = false',
    ...(keys === undefined ? [] : personSettings(cwd)),
    '[analytics]',
    'enabled = false',
    '[model_providers.fermata]',
    'name = "fermata"',
    `base_url = "${proxyUrl}/v1"`,
    'wire_api = "responses"',
    'env_key = "FERMATA_TOKEN"',
    ...(mcpUrl === undefined
      ? []
      : [
          '[mcp_servers.fermata]',
          `url = "${mcpUrl}"`,
          'bearer_token_env_var = "FERMATA_TOKEN"',
          ...mcpSettings,
        ]),
    '',
  ].join('\n');
}

export async function runCodexSession(session: CodexSession): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-codex-'));
  try {
    const [home, cwd] = [join(folder, 'home'), join(folder, 'work')];
    await Promise.all([mkdir(join(home, '.codex'), { recursive: true }), mkdir(cwd)]);
    await writeFile(join(home, '.codex', 'config.toml'), configOf(session, cwd));
    for (const [name, text] of Object.entries(session.files ?? {})) await writeFile(join(cwd, name), text);
    const options = {
      cwd,
      env: { ...session.env, HOME: home, TMPDIR: folder, FERMATA_TOKEN: session.token },
      timeoutMs: session.timeoutMs,
      signal: session.signal,
      ...(session.looked === undefined ? {} : { looked: session.looked }),
    };
    if (session.keys !== undefined) {
      return await runInTerminal(session.program, [session.task], session.keys, options);
    }
    const exec = [
      'exec',
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      session.task,
    ];
    return await runBounded(session.program, exec, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
