/**
 * One session of the Gemini CLI, at a terminal or not, with an empty home and a working folder of its own. It knows
 * neither what the model says nor what is judged.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';
import { runInTerminal } from './terminal-process.ts';
import type { KeyStep } from './terminal-process.ts';

export interface GeminiSession {
  readonly program: string;
  /** Of the scripted model. */
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly token: string;
  readonly task: string;
  /** Added to the entry of our MCP server. */
  readonly mcpSettings?: object;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** A person at a terminal, who types the task too; absent: `-p`. */
  readonly keys?: readonly KeyStep[];
  /** Told the lines of the screen after each change. */
  readonly looked?: (lines: readonly string[]) => void;
}

/** The settings that a person would write too; docs/clients.md shows the same. */
const settingsOf = ({ mcpUrl, token, mcpSettings = {} }: GeminiSession): object => ({
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  mcpServers: {
    fermata: { httpUrl: mcpUrl, headers: { Authorization: `Bearer ${token}` }, ...mcpSettings },
  },
});

export async function runGeminiSession(session: GeminiSession): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-gemini-'));
  try {
    const [home, cwd] = [join(folder, 'home'), join(folder, 'work')];
    await Promise.all([mkdir(join(home, '.gemini'), { recursive: true }), mkdir(cwd)]);
    await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify(settingsOf(session)));
    const args = ['-m', 'gemini-2.5-flash', '--skip-trust', '--approval-mode', 'yolo'];
    const options = {
      cwd,
      env: {
        ...session.env,
        HOME: home,
        TMPDIR: folder,
        GEMINI_API_KEY: 'unused',
        GOOGLE_GEMINI_BASE_URL: session.baseUrl,
      },
      timeoutMs: session.timeoutMs,
      signal: session.signal,
      ...(session.looked === undefined ? {} : { looked: session.looked }),
    };
    return session.keys === undefined
      ? await runBounded(session.program, [...args, '-p', session.task], options)
      : await runInTerminal(session.program, args, session.keys, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
