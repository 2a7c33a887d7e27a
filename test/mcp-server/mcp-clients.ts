/** The clients that tests talk with: both eras of the protocol, over HTTP, behind one small interface. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as SdkTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';

export interface ToolReply {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: Record<string, unknown>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => void;
}

export interface TestClient {
  readonly name: string;
  toolNames(): Promise<string[]>;
  call(tool: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolReply>;
  close(): Promise<void>;
}

const replySchema = z.object({
  content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  isError: z.boolean().optional(),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

export function toReply(result: unknown): ToolReply {
  const { content, isError, structuredContent } = replySchema.parse(result);
  return {
    text: content.map((part) => part.text).join('\n'),
    isError: isError ?? false,
    structured: structuredContent ?? {},
  };
}

/** `modern`: 2026-07-28, stateless. `legacy`: the same package, with sessions. `sdk`: the old package. */
export type ClientKind = 'modern' | 'legacy' | 'sdk';

const timeout = 60_000;

export async function connectClient(
  kind: ClientKind,
  url: string,
  name = `test-${kind}`,
  headers: Record<string, string> = {},
): Promise<TestClient> {
  const info = { name, version: '1.0.0' };
  const address = new URL(url);
  const requestInit = { headers };
  if (kind === 'sdk') {
    const client = new SdkClient(info);
    const transport = new SdkTransport(address, { requestInit });
    await client.connect(transport);
    return {
      name: kind,
      toolNames: async () => (await client.listTools()).tools.map((tool) => tool.name),
      call: async (tool, args = {}, options = {}) =>
        toReply(await client.callTool({ name: tool, arguments: args }, undefined, { timeout, ...options })),
      async close() {
        await transport.terminateSession();
        await client.close();
      },
    };
  }
  const mode = kind === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const);
  const client = new Client(info, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(address, { requestInit });
  await client.connect(transport);
  return {
    name: kind,
    toolNames: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (tool, args = {}, options = {}) =>
      toReply(await client.callTool({ name: tool, arguments: args }, { timeout, ...options })),
    async close() {
      if (kind === 'legacy') await transport.terminateSession();
      await client.close();
    },
  };
}
