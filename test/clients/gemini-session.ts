/**
 * One non-interactive session of the Gemini CLI with an empty home and a working folder of its own. It knows
 * neither what the model says nor what is judged.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';

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
    return await runBounded(
      session.program,
      ['-m', 'gemini-2.5-flash', '--skip-trust', '--approval-mode', 'yolo', '-p', session.task],
      {
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
      },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
