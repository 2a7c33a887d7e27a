/**
 * One tool server: a long-lived MCP connection, opened at first use, opened again with backoff after it
 * was lost, and a list of its tools that is kept until the server says it changed. It repeats a request
 * only where the server did not take it.
 */
import type { Logger } from 'pino';
import type { ToolServerConfig } from '../../contracts/config-file.ts';
import type { ToolServerResult } from '../tool-calls/render-result.ts';
import { createValidator } from '../tool-calls/validate-arguments.ts';
import {
  describeCallFailure,
  isLostSession,
  isSilence,
  isUnsent,
  messageOf,
  ToolServerError,
} from './call-failure.ts';
import { createConnectionOpener, type Connection } from './connection.ts';
import { keepConnection, type ConnectionKeeper } from './keep-connection.ts';
import { callResultSchema } from './read-call-result.ts';
import { boundedRequest, fetchTools, listTotalMs } from './requests.ts';
import { structuredOutputFault } from './structured-output.ts';
import { createToolListKeeper, type ToolList, type ToolListKeeper } from './tool-list.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface ServerCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  /** Goes along in the request's `_meta`. */
  readonly idempotencyKey: string;
  /** W3C trace context; goes along in `_meta`, and over HTTP in the header too. */
  readonly traceparent?: string;
}

export interface ToolServer {
  /** @throws Error with a readable message when the server cannot be listed. */
  list(signal: AbortSignal): Promise<ToolList>;
  /** The last list there was; null: it was never listed. */
  lastList(): ToolList | null;
  /** @throws ToolServerError, or what the signal threw. */
  call(call: ServerCall, signal: AbortSignal): Promise<ToolServerResult>;
  close(): Promise<void>;
}

/** How long a list is taken as it is: from servers that announce changes, and from all others. */
const announcedListMs = 300_000;
const unannouncedListMs = 5_000;
/** Milliseconds that a call waits for a list that changed. */
const changedListMs = 5_000;
/** Milliseconds that a process which was silent under a call has to answer a ping. */
const pingMs = 5_000;

export function createToolServer(name: string, config: ToolServerConfig, logger: Logger): ToolServer {
  const open = createConnectionOpener(name, config, logger, () => lists.changed());
  const connections = keepConnection(async (signal) => {
    try {
      return await open(signal);
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ toolServer: name, error: messageOf(error) }, 'a tool server cannot be reached');
      throw error;
    }
  });
  const lists = createToolListKeeper(async () => {
    const limit = AbortSignal.timeout(listTotalMs);
    return await onConnection(connections, limit, async (connection) => {
      const list = await fetchTools(connection.client, name, config, limit);
      return { list, keepMs: connection.announcesChanges() ? announcedListMs : unannouncedListMs };
    });
  });
  const warnOfFault = createFaultLog(name, lists, logger);
  return {
    list: async (signal) => await lists.get(signal),
    lastList: () => lists.last(),
    async call(call, signal) {
      await refuseMissingTool(name, lists, call.tool, signal);
      try {
        const result = await onConnection(connections, signal, async (connection) => {
          try {
            return await callOnce(connection, name, config, call, signal);
          } catch (error) {
            if (isSilence(error) && 'command' in config) void retireIfDead(connections, connection);
            throw error;
          }
        });
        warnOfFault(call.tool, result);
        return result;
      } catch (error) {
        if (signal.aborted || error instanceof ToolServerError) throw error;
        throw describeCallFailure(name, config, error);
      }
    },
    close: async () => await connections.close(),
  };
}

/** Does one request, and does it again once on a new connection where the first one did not take it. */
async function onConnection<T>(
  connections: ConnectionKeeper,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const used = await unlessAborted(connections.get(), signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new ToolServerError('not-sent', `the tool server cannot be reached: ${messageOf(error)}`);
    });
    try {
      return await connections.use(used, async () => {
        try {
          return await work(used);
        } catch (error) {
          if (isLostSession(error) || isUnsent(error)) connections.retire(used);
          throw error;
        }
      });
    } catch (error) {
      const isUntaken = isLostSession(error) || isUnsent(error);
      if (!isUntaken || attempt > 1 || signal.aborted) throw error;
    }
  }
}

/** @throws ToolServerError for a tool that the server has taken off its list. */
async function refuseMissingTool(
  name: string,
  lists: ToolListKeeper,
  tool: string,
  signal: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(changedListMs)]);
  // A list that cannot be had stops no call.
  const list = lists.isOutdated() ? await lists.get(limit).catch(() => null) : lists.current();
  if (list === null || !list.complete || list.tools.some((known) => known.name === tool)) return;
  const names = list.tools.map((known) => known.name);
  const listed = names.slice(0, 50).join(', ');
  const rest = names.length > 50 ? ` and ${names.length - 50} more` : '';
  throw new ToolServerError(
    'refused',
    `the tool server ${name} no longer has a tool '${tool}'. Its tools are: ${names.length === 0 ? 'none' : listed}${rest}.`,
  );
}

/** One call with both its limits; each of them, and the caller's signal, tells the server to stop. */
async function callOnce(
  { client }: Connection,
  name: string,
  config: ToolServerConfig,
  call: ServerCall,
  signal: AbortSignal,
): Promise<ToolServerResult> {
  const { tool, idempotencyKey, traceparent } = call;
  const params = {
    name: tool,
    arguments: call.arguments,
    _meta: {
      'fermata/idempotencyKey': idempotencyKey,
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
  return await boundedRequest(
    name,
    config,
    signal,
    async (options) => await client.request({ method: 'tools/call', params }, callResultSchema, options),
  );
}

/**
 * A process that does not even answer a ping after a silent call is stuck for good: it is replaced. One
 * that answers was only slow, and has been told to stop.
 */
async function retireIfDead(connections: ConnectionKeeper, connection: Connection): Promise<void> {
  try {
    await connection.client.ping({ timeout: pingMs });
  } catch (error) {
    if (isSilence(error)) connections.retire(connection);
  }
}

/** Says once a tool what its results lack of what it declares. */
function createFaultLog(
  name: string,
  lists: ToolListKeeper,
  logger: Logger,
): (tool: string, result: ToolServerResult) => void {
  const validate = createValidator();
  const told = new Set<string>();
  return (toolName, result) => {
    const tool = lists.last()?.tools.find((known) => known.name === toolName);
    if (tool === undefined || told.has(toolName)) return;
    const fault = structuredOutputFault(tool, result, validate);
    if (fault === null) return;
    told.add(toolName);
    logger.warn({ toolServer: name, tool: toolName, fault }, 'a tool breaks its own output schema');
  };
}
