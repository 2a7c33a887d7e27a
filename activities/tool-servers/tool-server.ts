/**
 * One tool server: a long-lived MCP connection, opened at first use, opened again with backoff after it
 * was lost, and a list of its tools that is kept until the server says it changed. It repeats a call
 * only where the server said that it did not take it.
 */
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { ToolServerConfig } from '../../contracts/config-file.ts';
import { describeCallFailure, isLostSession, messageOf, ToolServerError } from './call-failure.ts';
import { openConnection, type Connection } from './connection.ts';
import { keepConnection } from './keep-connection.ts';
import { walkPages } from './list-pages.ts';

export interface ToolList {
  readonly tools: readonly Tool[];
  readonly warnings: readonly string[];
}

export interface ServerCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  /** Goes along in the request's `_meta`. */
  readonly idempotencyKey: string;
}

export interface ToolServer {
  /** @throws Error with a readable message when the server cannot be listed. */
  list(signal: AbortSignal): Promise<ToolList>;
  /** @throws ToolServerError, or what the signal threw. */
  call(call: ServerCall, signal: AbortSignal): Promise<CallToolResult>;
  close(): Promise<void>;
}

const listTimeoutMs = 30_000;
/** How long a list is taken as it is: from servers that announce changes, and from all others. */
const announcedListMs = 300_000;
const unannouncedListMs = 5_000;

export function createToolServer(name: string, config: ToolServerConfig, logger: Logger): ToolServer {
  let list: { readonly value: ToolList; readonly untilMs: number } | null = null;
  let listGeneration = 0;
  const forgetList = (): void => {
    list = null;
    listGeneration += 1;
  };
  const connections = keepConnection(
    async (signal) => await openConnection(name, config, logger, forgetList, signal),
  );
  return {
    async list(signal) {
      if (list !== null && performance.now() < list.untilMs) return list.value;
      const generation = listGeneration;
      const connection = await connections.get();
      const value = await fetchList(connection, name, signal);
      const announces = connection.client.getServerCapabilities()?.tools?.listChanged === true;
      const keepMs = announces ? announcedListMs : unannouncedListMs;
      // A list that was fetched before a change was announced is answered, not kept.
      if (generation === listGeneration) list = { value, untilMs: performance.now() + keepMs };
      return value;
    },
    async call(call, signal) {
      for (let attempt = 1; ; attempt += 1) {
        const used = await connections.get().catch((error: unknown) => {
          throw new ToolServerError(
            'not-sent',
            `the tool server ${name} cannot be reached: ${messageOf(error)}`,
          );
        });
        try {
          return await connections.use(used, async () => {
            try {
              return await callOnce(used, name, config, call, signal);
            } catch (error) {
              if (isLostSession(error)) connections.retire(used);
              throw error;
            }
          });
        } catch (error) {
          if (isLostSession(error) && attempt === 1 && !signal.aborted) continue;
          if (signal.aborted || error instanceof ToolServerError) throw error;
          throw describeCallFailure(name, config, error);
        }
      }
    },
    close: async () => await connections.close(),
  };
}

async function fetchList({ client }: Connection, name: string, signal: AbortSignal): Promise<ToolList> {
  const walked = await walkPages(async (cursor) => {
    const page = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      { signal, timeout: listTimeoutMs },
    );
    return { items: page.tools, nextCursor: page.nextCursor };
  });
  const tools = new Map(walked.items.map((tool) => [tool.name, tool]));
  return {
    tools: [...tools.values()],
    warnings: walked.stopped === null ? [] : [`${name}: ${walked.stopped}`],
  };
}

/** One request with both its limits; each of them, and the caller's signal, tells the server to stop. */
async function callOnce(
  { client }: Connection,
  name: string,
  config: ToolServerConfig,
  call: ServerCall,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const total = new AbortController();
  const timer = setTimeout(() => total.abort(), config.totalTimeoutMs);
  try {
    return await client.request(
      {
        method: 'tools/call',
        params: {
          name: call.tool,
          arguments: call.arguments,
          _meta: { 'fermata/idempotencyKey': call.idempotencyKey },
        },
      },
      {
        signal: AbortSignal.any([signal, total.signal]),
        timeout: config.idleTimeoutMs,
        resetTimeoutOnProgress: true,
        // Without a listener no progress token is sent, and the server could not show that it lives.
        onprogress: () => undefined,
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (total.signal.aborted) {
      throw new ToolServerError(
        'unknown',
        `${name} did not finish within ${config.totalTimeoutMs / 1_000} s and was told to stop`,
      );
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
