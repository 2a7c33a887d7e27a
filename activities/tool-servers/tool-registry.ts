/**
 * All tool servers of a worker: their tools under the names that models see, and calls by server. A
 * server that cannot be listed in time is left out with a warning; it never holds up the others. Servers
 * may be added, changed and removed meanwhile: one that is taken out of use ends with its last call.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ToolServerConfig, ToolServers } from '../../contracts/config-file.ts';
import type { ListedTool, ToolListing } from '../../contracts/tool-listing.ts';
import type { ToolServerResult } from '../tool-calls/render-result.ts';
import { nameTools } from '../tool-calls/tool-names.ts';
import { messageOf, ToolServerError } from './call-failure.ts';
import type { ServerTool } from './read-tools.ts';
import { createToolServer, type ServerCall, type ToolServer } from './tool-server.ts';

export interface ToolRegistry {
  /** @param names only these; null: all. */
  list(names: readonly string[] | null, signal: AbortSignal): Promise<ToolListing>;
  /** @throws ToolServerError, or what the signal threw. */
  call(server: string, call: ServerCall, signal: AbortSignal): Promise<ToolServerResult>;
  /**
   * Puts other servers in force. One whose entry is the same keeps its connection. Calls in flight, of
   * servers that are changed or removed too, end where they were sent.
   */
  reconfigure(configs: ToolServers): void;
  close(): Promise<void>;
}

/** Milliseconds that a listing waits for one server. */
const serverListMs = 5_000;
/**
 * Bytes of JSON of a whole listing: it becomes one entry in a run's history, and goes along with the
 * transcript when the run continues as new.
 */
const listingLimitBytes = 400_000;

export function createToolRegistry(configs: ToolServers, deps: { readonly logger: Logger }): ToolRegistry {
  /** In the order of the file, which names of tools and the prompts of runs go by. */
  let servers: ReadonlyMap<string, ServerInUse> = new Map();
  /** Taken out of use, with calls in flight. */
  const leaving = new Set<ServerInUse>();
  const reconfigure = (wanted: ToolServers): void => {
    const before = servers;
    servers = new Map(
      Object.entries(wanted).map(([name, config]) => {
        const known = before.get(name);
        const isSame = known !== undefined && isDeepStrictEqual(known.config, config);
        return [name, isSame ? known : new ServerInUse(name, config, deps.logger)];
      }),
    );
    for (const [name, server] of before) {
      if (servers.get(name) === server) continue;
      leaving.add(server);
      void server.retire().finally(() => leaving.delete(server));
    }
  };
  reconfigure(configs);
  return {
    async list(names, signal) {
      const listed = await Promise.all(
        [...servers].map(async ([name, server]) => await listServer(name, server, signal)),
      );
      const all = listed.flatMap(({ server, tools }) => tools.map((tool) => ({ server, tool })));
      const toolNames = nameTools(all.map(({ server, tool }) => ({ server, serverTool: tool.name })));
      const tools = all.map(({ server, tool }, index) => listedTool(toolNames[index] ?? '', server, tool));
      const chosen = names === null ? tools : tools.filter((tool) => names.includes(tool.name));
      return withinLimit(
        chosen,
        listed.flatMap(({ warnings }) => warnings),
      );
    },
    async call(serverName, call, signal) {
      const known = servers.get(serverName);
      if (known !== undefined) return await known.use(async () => await known.server.call(call, signal));
      throw new ToolServerError('not-sent', `this worker has no tool server '${serverName}'`);
    },
    reconfigure,
    async close() {
      const all = [...servers.values(), ...leaving];
      servers = new Map();
      await Promise.all(all.map(async ({ server }) => await server.close()));
    },
  };
}

/** A server and how much it is in use. */
class ServerInUse {
  readonly config: ToolServerConfig;
  readonly server: ToolServer;
  /** When a listing last waited for it in vain; null: it answers. */
  slowSinceMs: number | null = null;
  #uses = 0;
  #whenUnused: (() => void) | null = null;

  constructor(name: string, config: ToolServerConfig, logger: Logger) {
    this.config = config;
    this.server = createToolServer(name, config, logger);
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    this.#uses += 1;
    try {
      return await work();
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0) this.#whenUnused?.();
    }
  }

  /** Ends its connection once nothing uses it any more; resolves then. Nobody may begin to use it after. */
  async retire(): Promise<void> {
    if (this.#uses > 0) {
      await new Promise<void>((resolve) => {
        this.#whenUnused = resolve;
      });
    }
    await this.server.close();
  }
}

interface ServerTools {
  readonly server: string;
  readonly tools: readonly ServerTool[];
  readonly warnings: readonly string[];
}

/** A server that hung is not waited for again until this has passed; it may answer in the meantime. */
const slowServerMs = 30_000;
const slowServerListMs = 250;

async function listServer(name: string, inUse: ServerInUse, signal: AbortSignal): Promise<ServerTools> {
  const { server, slowSinceMs } = inUse;
  const isSlow = slowSinceMs !== null && performance.now() - slowSinceMs < slowServerMs;
  const limit = AbortSignal.timeout(isSlow ? slowServerListMs : serverListMs);
  try {
    const listing = inUse.use(async () => await server.list(AbortSignal.any([signal, limit])));
    const list = await raceWith(listing, limit);
    inUse.slowSinceMs = null;
    return { server: name, ...list };
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted && !isSlow) inUse.slowSinceMs = performance.now();
    // One that restarts after a crash is soon there again; a run keeps the tools that it begins with.
    const last = limit.aborted ? null : server.lastList();
    if (last !== null) {
      const warning = `${name}: ${messageOf(error)}; its tools are listed as last known`;
      return { server: name, tools: last.tools, warnings: [...last.warnings, warning] };
    }
    const why = limit.aborted ? `did not answer within ${serverListMs / 1_000} s` : messageOf(error);
    return { server: name, tools: [], warnings: [`${name}: ${why}; its tools are left out`] };
  }
}

/** Opening a connection does not hear the signal; the listing does not wait for it all the same. */
async function raceWith<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('timed out')), { once: true });
  });
  work.catch(() => undefined);
  return await Promise.race([work, aborted]);
}

function listedTool(name: string, server: string, tool: ServerTool): ListedTool {
  const { readOnlyHint, destructiveHint, idempotentHint } = tool.annotations ?? {};
  return {
    name,
    server,
    serverTool: tool.name,
    description: tool.description ?? tool.title ?? '',
    inputSchema: tool.inputSchema,
    annotations: {
      ...(readOnlyHint === undefined ? {} : { readOnlyHint }),
      ...(destructiveHint === undefined ? {} : { destructiveHint }),
      ...(idempotentHint === undefined ? {} : { idempotentHint }),
    },
  };
}

function withinLimit(tools: readonly ListedTool[], warnings: readonly string[]): ToolListing {
  const kept: ListedTool[] = [];
  let bytes = 0;
  for (const tool of tools) {
    bytes += Buffer.byteLength(JSON.stringify(tool));
    if (bytes > listingLimitBytes) break;
    kept.push(tool);
  }
  const left = tools.length - kept.length;
  const note = `${left} tools are left out: the list is larger than ${listingLimitBytes} bytes; name the tools a run needs`;
  return { tools: kept, warnings: left === 0 ? [...warnings] : [...warnings, note] };
}
