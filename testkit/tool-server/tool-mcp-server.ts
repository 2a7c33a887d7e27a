/**
 * The MCP server over the fake tools, one instance for each connection or exchange; the calls of all of
 * them go to one log. A call is cancelled when its client says so or, where the protocol has it, leaves.
 * Calls that take longer than a second report progress every second when the client asks for it.
 */
import { McpServer, type CallToolResult, type ServerContext } from '@modelcontextprotocol/server';
import type { CallLog } from './call-log.ts';
import { fakeTools, type FakeTool, type Values } from './tools.ts';

const progressEveryMs = 1_000;
const idempotencyField = /(^|[./])idempotency[-_]?key$/i;

export interface ToolServerParts {
  readonly log: CallLog;
  /** Real milliseconds for each millisecond that a tool takes. */
  readonly delayScale: number;
}

/** A fresh server with every tool. */
export function createToolMcpServer(parts: ToolServerParts): McpServer {
  const server = new McpServer({ name: 'fermata-testkit', version: '1.0.0' });
  for (const tool of fakeTools) {
    const { name, description, inputSchema, annotations } = tool;
    server.registerTool(
      name,
      { description, inputSchema, annotations: { ...annotations, openWorldHint: false } },
      async (values: Values, context: ServerContext) => await runTool(tool, values, context, parts),
    );
  }
  return server;
}

async function runTool(
  tool: FakeTool,
  values: Values,
  context: ServerContext,
  { log, delayScale }: ToolServerParts,
): Promise<CallToolResult> {
  const { signal, _meta: meta } = context.mcpReq;
  const end = log.begin(tool.name, values, idempotencyKeyOf(meta));
  const cancelled = (): void => {
    end('cancelled');
  };
  signal.addEventListener('abort', cancelled, { once: true });
  try {
    const durationMs = tool.durationMs(values) * (tool.scaled ? delayScale : 1);
    await pass(durationMs, context);
    signal.throwIfAborted();
    const { text, isError, images = [] } = tool.answer(values);
    end(isError === true ? 'failed' : 'finished');
    const shown = images.map((image) => ({ type: 'image' as const, ...image }));
    return { content: [{ type: 'text', text }, ...shown], ...(isError === true ? { isError } : {}) };
  } finally {
    signal.removeEventListener('abort', cancelled);
    end('failed');
  }
}

function idempotencyKeyOf(meta: Readonly<Record<string, unknown>> | undefined): string | null {
  const key = Object.entries(meta ?? {}).find(([name]) => idempotencyField.test(name))?.[1];
  return typeof key === 'string' ? key : null;
}

/** Resolves after `durationMs` or when the call is cancelled. */
async function pass(durationMs: number, { mcpReq }: ServerContext): Promise<void> {
  const { signal } = mcpReq;
  const progressToken = mcpReq._meta?.progressToken;
  const startedAtMs = performance.now();
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      clearInterval(reporter);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, durationMs);
    const reporter = setInterval(() => {
      if (progressToken === undefined) return;
      const progress = Math.round(performance.now() - startedAtMs);
      const params = { progressToken, progress, total: Math.round(durationMs) };
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    }, progressEveryMs);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
