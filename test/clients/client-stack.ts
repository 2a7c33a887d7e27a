/**
 * The stack that the clients are driven against: everything real but the engines, in a state directory
 * of its own that goes when it closes. The pool has two simulated engines, for sub-agents and frameworks,
 * and two replicas of each scripted one, for the loops of the agents.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startStack } from '../../cli/embedded-stack.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { startSimEngine } from '../../testkit/sim-engine/host.ts';
import { startToolServer } from '../../testkit/tool-server/host.ts';
import type { ToolServer } from '../../testkit/tool-server/host.ts';
import { startMessagesPair } from './claude-code-proxy.ts';
import type { MessagesPair } from './claude-code-proxy.ts';
import { startResponsesPair } from './codex.ts';
import type { ResponsesPair } from './codex.ts';
import { startChatPair } from './opencode-session.ts';
import type { ChatPair } from './opencode-session.ts';
import { startOpenCodeEngine } from './opencode.ts';
import type { OpenCodeEngine } from './opencode.ts';
import { limitedCaller } from './sdk-smoke.ts';
import { TurnLog } from './turn-log.ts';

export interface ClientStack {
  readonly mcpUrl: string;
  readonly proxyUrl: string;
  readonly schedulerUrl: string;
  /** FERMATA_TOKEN: every door is closed without it. */
  readonly token: string;
  readonly scriptedEngine: OpenCodeEngine;
  readonly messagesPair: MessagesPair;
  readonly responsesPair: ResponsesPair;
  readonly chatPair: ChatPair;
  /** The tools of sub-agents. */
  readonly toolServer: ToolServer;
  readonly log: TurnLog;
  close(): Promise<void>;
}

export interface ClientStackOptions {
  /** Where fetched programs are kept over many runs. */
  readonly toolsDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
}

/** @throws what the part that did not start said; then nothing is left running. */
export async function startClientStack(options: ClientStackOptions): Promise<ClientStack> {
  const log = new TurnLog();
  const logger = pino({ level: 'info' }, { write: (line) => log.write(line) });
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closing.splice(0).toReversed()) await one();
  };
  const keep = <T extends { close(): Promise<void> }>(part: T): T => {
    closing.push(async () => await part.close());
    return part;
  };
  try {
    const stateDir = await mkdtemp(join(tmpdir(), 'fermata-clients-'));
    closing.push(async () => await rm(stateDir, { recursive: true, force: true }));
    const toolServer = keep(await startToolServer({ host: '127.0.0.1', port: 0 }));
    const scriptedEngine = keep(await startOpenCodeEngine());
    const messagesPair = keep(await startMessagesPair());
    const responsesPair = keep(await startResponsesPair());
    const chatPair = keep(await startChatPair());
    const simulated = [keep(await startSimEngine()), keep(await startSimEngine())];
    const token = randomBytes(24).toString('hex');
    const ports = ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'];
    const stack = keep(
      await startStack({
        settings: parseSettings({
          ...Object.fromEntries(ports.map((port) => [`FERMATA_${port}_PORT`, '0'])),
          FERMATA_STATE_DIR: stateDir,
          FERMATA_TOKEN: token,
        }),
        toolsDir: options.toolsDir,
        environment: options.environment,
        temporal: null,
        config: configFileSchema.parse({
          pool: [
            ...simulated.map(({ url }, index) => ({ id: `simulated-${index}`, url, engine: 'vllm' })),
            ...scriptedEngine.replicas.map(({ id, url }) => ({ id, url })),
            ...chatPair.replicas,
            ...messagesPair.replicas.map((replica) => ({ ...replica, apis: ['messages'] })),
            ...responsesPair.replicas.map((replica) => ({ ...replica, apis: ['responses'] })),
          ],
          tools: { mcpServers: { testkit: { type: 'http', url: toolServer.url } } },
          callers: { [limitedCaller]: { requestsPerMinute: 1 } },
        }),
        engine: 'simulated',
        separate: false,
        logger,
        progress: options.print,
      }),
    );
    const { mcpUrl, proxyUrl, schedulerUrl } = stack;
    const urls = { mcpUrl, proxyUrl, schedulerUrl };
    const pairs = { messagesPair, responsesPair, chatPair };
    return { ...urls, token, scriptedEngine, ...pairs, toolServer, log, close };
  } catch (error) {
    await close();
    throw error;
  }
}
