/**
 * One session of OpenCode as an MCP client, at a terminal or with `opencode run`, with an empty home and a working folder of its own, and
 * the replicas that its scripted model is served from. It knows neither what the model says nor what is judged.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBounded } from './bounded-process.ts';
import type { Ended } from './bounded-process.ts';
import { startChatEndpoint } from './chat-endpoint.ts';
import type { ChatReply, ChatTurn } from './chat-endpoint.ts';
import { startReplicaPair } from './replica-pair.ts';
import type { ReplicaPair } from './replica-pair.ts';
import { runInTerminal } from './terminal-process.ts';
import type { KeyStep } from './terminal-process.ts';

export type ChatPair = ReplicaPair<ChatTurn, ChatReply>;

/** The model that only these replicas serve. */
export const chatModel = 'scripted-chat';

export async function startChatPair(): Promise<ChatPair> {
  return await startReplicaPair<ChatTurn, ChatReply>(
    'chat',
    async (script) => await startChatEndpoint(chatModel, script),
  );
}

export interface OpenCodeSession {
  readonly program: string;
  readonly proxyUrl: string;
  readonly mcpUrl: string;
  readonly token: string;
  readonly task: string;
  /** Added to the entry of our MCP server. */
  readonly mcpSettings?: object;
  /** Added to an environment that is otherwise empty but for a search path. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** A person at a terminal, who types the task too; absent: `opencode run`. */
  readonly keys?: readonly KeyStep[];
  /** Told the lines of the screen after each change. */
  readonly looked?: (lines: readonly string[]) => void;
}

/** The settings that a person would write too; docs/clients.md shows the same. */
function configOf({ proxyUrl, mcpUrl, token, mcpSettings = {} }: OpenCodeSession): object {
  return {
    $schema: 'https://opencode.ai/config.json',
    autoupdate: false,
    share: 'disabled',
    model: `fermata/${chatModel}`,
    provider: {
      fermata: {
        npm: '@ai-sdk/openai-compatible',
        name: 'fermata',
        options: { baseURL: `${proxyUrl}/v1`, apiKey: token },
        models: { [chatModel]: { name: chatModel } },
      },
    },
    mcp: {
      fermata: {
        type: 'remote',
        url: mcpUrl,
        enabled: true,
        headers: { Authorization: `Bearer ${token}` },
        ...mcpSettings,
      },
    },
  };
}

export async function runOpenCodeSession(session: OpenCodeSession): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-opencode-'));
  try {
    const [home, cwd] = [join(folder, 'home'), join(folder, 'work')];
    await Promise.all([mkdir(home), mkdir(cwd)]);
    await writeFile(join(cwd, 'opencode.json'), JSON.stringify(configOf(session)));
    const options = {
      cwd,
      env: {
        ...session.env,
        HOME: home,
        TMPDIR: folder,
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      },
      timeoutMs: session.timeoutMs,
      signal: session.signal,
      ...(session.looked === undefined ? {} : { looked: session.looked }),
    };
    return session.keys === undefined
      ? await runBounded(session.program, ['run', session.task], options)
      : await runInTerminal(session.program, [], session.keys, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
