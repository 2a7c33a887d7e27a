/**
 * Makes an MCP server with all tools, the same for every era and transport: one per request for
 * 2026-07-28, one per session before, one per process over stdio.
 */
import {
  CLIENT_INFO_META_KEY,
  McpServer,
  TRACEPARENT_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { z } from 'zod';
import { openGrant, type Admitted } from '../../auth/grant.ts';
import { parseTraceparent, traceparentName } from '../../contracts/trace-context.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { wellWorded } from './argument-words.ts';
import { answerCall, toolError } from './answer-call.ts';
import { askerOf } from '../runs/asker.ts';
import { packageVersion } from '../runs/package-version.ts';
import { clientAskingOf } from './ask-client.ts';
import { callerOf } from './caller.ts';
import { CallsInProgress } from './calls-in-progress.ts';
import type { CallMeter } from '../metrics.ts';
import type { RunService } from '../runs/run-service.ts';
import { showsNoForms } from './forms-off.ts';
import { createRequestStates, type StateKeySource } from './request-state.ts';
import { addTaskMethods, declaresTasks } from './task-methods.ts';
import { tasksExtension } from './task-state.ts';
import { serverInstructions } from './tool-descriptions.ts';
import type { ToolCall } from './tool-call.ts';
import { defineTools } from './tool-definitions.ts';

export interface RequestOrigin {
  /** IP address of the client. */
  readonly address: string;
  /** What the token of the request allows. */
  readonly grant: Admitted;
}

/** Whoever starts this process reaches Temporal itself. */
const stdioOrigin: RequestOrigin = { address: 'stdio', grant: openGrant };

export interface FactoryDeps {
  readonly service: RunService;
  readonly logger: Logger;
  readonly meter: CallMeter;
  /** Where calls are traced; null or absent: nowhere. */
  readonly telemetry?: Telemetry | null | undefined;
  /** Where an HTTP request comes from. */
  readonly originOf: (request: Request | undefined) => RequestOrigin;
  /** `off`: no client of this server is shown a form, whatever it declares. Default `on`. */
  readonly forms?: 'on' | 'off' | undefined;
  /** What authenticates the questions that a call is ended with. */
  readonly stateKey: StateKeySource;
}

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

const stoppingWords =
  'this server is stopping; runs are kept and go on, so make the same call again in a moment (with spawn, use a requestId)';

export function createServerFactory(deps: FactoryDeps): ServerFactory {
  const states = createRequestStates(deps.stateKey);
  const tools = defineTools({ service: deps.service, states });
  const calls = new CallsInProgress();
  const make = (): McpServer => {
    const server = new McpServer(
      { name: 'fermata', title: 'fermata', version: packageVersion },
      {
        capabilities: { tools: { listChanged: false }, extensions: { [tasksExtension]: {} } },
        instructions: serverInstructions,
        requestState: { verify: async (state, context) => await states.verify(state, context) },
        cacheHints: { 'tools/list': toolListHint, 'server/discover': toolListHint },
      },
    );
    for (const tool of tools) {
      const { title, description, annotations, input } = tool;
      server.registerTool(
        tool.name,
        { title, description, annotations: { ...annotations }, inputSchema: wellWorded(input) },
        async (args: unknown, context: ServerContext) =>
          await calls.run(goneSignals(context), async (signal) => {
            const call = toCall(deps, server, context, signal);
            const result = await answerCall(deps, tool, args, call);
            return result === 'broken off' ? toolError(calls.stopping ? stoppingWords : result) : result;
          }),
      );
    }
    addTaskMethods(
      server,
      deps.service,
      async (context, work) =>
        await calls.run(
          goneSignals(context),
          async (signal) => await work(toCall(deps, server, context, signal)),
        ),
    );
    return server;
  };
  return { make, drain: async () => await calls.drain(drainMs) };
}

/**
 * What says that nobody waits for the answer any more: the client's cancellation, or the end of its
 * connection, since a client of the sessionful era cannot get the answer in any other way either.
 */
function goneSignals({ mcpReq, http }: ServerContext): AbortSignal[] {
  return http?.req === undefined ? [mcpReq.signal] : [mcpReq.signal, http.req.signal];
}

const envelopeSchema = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) });

function toCall(deps: FactoryDeps, server: McpServer, context: ServerContext, signal: AbortSignal): ToolCall {
  const { mcpReq, http, sessionId } = context;
  const token = mcpReq._meta?.progressToken;
  const envelope = envelopeSchema.safeParse(mcpReq.envelope);
  const traceparent = traceparentOf(context);
  const origin = http === undefined ? stdioOrigin : deps.originOf(http.req);
  const caller = callerOf({
    sessionId,
    // A request of 2026-07-28 carries it; before, it was told in the handshake.
    clientName: envelope.data?.[CLIENT_INFO_META_KEY].name ?? server.server.getClientVersion()?.name,
    address: origin.address,
  });
  const asking = showsNoForms(deps, http?.req) ? null : clientAskingOf(server, context);
  const state = mcpReq.requestState();
  return {
    asker: askerOf(caller, origin.grant),
    signal,
    takesTask: declaresTasks(context),
    ...(asking === null ? {} : { asking }),
    ...(state === undefined ? {} : { retry: { state, answers: { ...mcpReq.inputResponses } } }),
    ...(traceparent === null ? {} : { traceparent }),
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

/** What the call itself says goes before the request that it came in, which may carry several. */
function traceparentOf({ mcpReq, http }: ServerContext): string | null {
  for (const text of [mcpReq._meta?.[TRACEPARENT_META_KEY], http?.req?.headers.get(traceparentName)]) {
    if (typeof text === 'string' && parseTraceparent(text) !== null) return text;
  }
  return null;
}
