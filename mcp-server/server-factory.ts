/**
 * Makes an MCP server with all tools, the same for every era and transport: one per request for
 * 2026-07-28, one per session before, one per process over stdio. What a user did wrong becomes a tool
 * error with words; what we did wrong is logged and told as such.
 */
import { readFileSync } from 'node:fs';
import { McpServer, type CallToolResult, type ServerContext } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { z } from 'zod';
import { callerOf } from './caller.ts';
import { CallsInProgress } from './calls-in-progress.ts';
import type { CallMeter, CallOutcome } from './metrics.ts';
import type { RunService } from './run-service.ts';
import { serverInstructions } from './tool-descriptions.ts';
import { defineTools, type ToolCall, type ToolDefinition } from './tool-definitions.ts';
import { UserFault } from './user-fault.ts';

export interface FactoryDeps {
  readonly service: RunService;
  readonly logger: Logger;
  readonly meter: CallMeter;
  /** Address of the client of a request; undefined when it has none. */
  readonly addressOf: (request: Request | undefined) => string | undefined;
}

const packageSchema = z.object({ version: z.string() });
const packageUrl = new URL('../package.json', import.meta.url);
const { version } = packageSchema.parse(JSON.parse(readFileSync(packageUrl, 'utf8')));

/** The list of tools changes only with a new version. */
const toolListHint = { ttlMs: 3_600_000, cacheScope: 'public' } as const;

export interface ServerFactory {
  make(): McpServer;
  /**
   * Ends all waits with an answer that says so, and resolves when every call in progress has been
   * answered, or after two seconds. Calls that come later are answered the same way.
   */
  drain(): Promise<void>;
}

const drainMs = 2_000;

export function createServerFactory(deps: FactoryDeps): ServerFactory {
  const tools = defineTools(deps.service);
  const calls = new CallsInProgress();
  const make = (): McpServer => {
    const server = new McpServer(
      { name: 'fermata', title: 'fermata', version },
      {
        capabilities: { tools: { listChanged: false } },
        instructions: serverInstructions,
        cacheHints: { 'tools/list': toolListHint, 'server/discover': toolListHint },
      },
    );
    for (const tool of tools) {
      const { title, description, annotations, input } = tool;
      server.registerTool(
        tool.name,
        { title, description, annotations: { ...annotations }, inputSchema: input },
        async (args: unknown, context: ServerContext) => {
          const call = toCall(deps, server, context, calls.stopping);
          return await calls.track(answer(deps, tool, args, call, calls.stopping));
        },
      );
    }
    return server;
  };
  return { make, drain: async () => await calls.drain(drainMs) };
}

const traceparentSchema = z.string().regex(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);

function toCall(
  deps: FactoryDeps,
  server: McpServer,
  context: ServerContext,
  stopping: AbortSignal,
): ToolCall {
  const { mcpReq, http, sessionId } = context;
  const token = mcpReq._meta?.progressToken;
  const traceparent = traceparentSchema.safeParse(mcpReq._meta?.['traceparent']);
  return {
    caller: callerOf({
      sessionId,
      // Read through the server, which knows it from the handshake or from this request's envelope.
      clientName: server.server.getClientVersion()?.name,
      address: http === undefined ? 'stdio' : deps.addressOf(http.req),
    }),
    // A client of the sessionful era that only drops its connection can never get the answer either.
    signal: AbortSignal.any([stopping, mcpReq.signal, ...(http?.req === undefined ? [] : [http.req.signal])]),
    ...(traceparent.success ? { traceparent: traceparent.data } : {}),
    ...(token === undefined
      ? {}
      : {
          progress: async (progress: number, total: number, message: string) => {
            const params = { progressToken: token, progress, total, message };
            await mcpReq.notify({ method: 'notifications/progress', params });
          },
        }),
  };
}

async function answer(
  deps: FactoryDeps,
  tool: ToolDefinition,
  args: unknown,
  call: ToolCall,
  stopping: AbortSignal,
): Promise<CallToolResult> {
  const startedAt = performance.now();
  deps.meter.callStarted(tool.name);
  const end = (outcome: CallOutcome, words?: string): void => {
    const seconds = (performance.now() - startedAt) / 1_000;
    deps.meter.callEnded(tool.name, outcome, seconds);
    const line = { tool: tool.name, caller: call.caller, ms: Math.round(seconds * 1_000), outcome };
    deps.logger.info(words === undefined ? line : { ...line, words }, 'tool call');
  };
  try {
    const { text, structured } = await tool.handle(args, call);
    end('ok');
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    if (error instanceof UserFault) {
      end('fault', error.message);
      return toolError(error.message);
    }
    if (call.signal.aborted) {
      end('gone');
      return toolError(stopping.aborted ? stoppingWords : 'the call was broken off');
    }
    deps.logger.error({ err: error, tool: tool.name }, 'tool call failed');
    end('error');
    return toolError(`a fault in fermata: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const stoppingWords =
  'this server is stopping; runs are kept and go on, so make the same call again in a moment (with spawn, use a requestId)';

function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
