/**
 * An MCP client of each era, reduced to what a measurement needs: connect, call a tool, close.
 * The modern one is the 2.x client pinned to 2026-07-28, the legacy one the 1.x client.
 */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';

export interface ToolClient {
  readonly era: '2026-07-28' | '2025';
  /** @returns the structured content. @throws Error with the tool's own words when it answers with an error. */
  call(tool: string, args: Record<string, unknown>, timeoutMs?: number): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const resultSchema = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).default([]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

const defaultTimeoutMs = 660_000;
const identity = { name: 'fermata-bench', version: '0.0.0' };

function structured(tool: string, answer: unknown): Record<string, unknown> {
  const result = resultSchema.parse(answer);
  const text = result.content.map((part) => part.text ?? '').join('\n');
  if (result.isError === true) throw new Error(`${tool}: ${text}`);
  return result.structuredContent ?? {};
}

/** How requests are made. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** @param fetchLike absent: as Node does. */
export async function connectModern(url: string, fetchLike?: FetchLike): Promise<ToolClient> {
  const client = new ModernClient(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(
    new ModernTransport(new URL(url), fetchLike === undefined ? {} : { fetch: fetchLike }),
  );
  return {
    era: '2026-07-28',
    call: async (tool, args, timeoutMs = defaultTimeoutMs) =>
      structured(tool, await client.callTool({ name: tool, arguments: args }, { timeout: timeoutMs })),
    close: async () => await client.close(),
  };
}

export async function connectLegacy(url: string): Promise<ToolClient> {
  const client = new LegacyClient(identity);
  await client.connect(new LegacyTransport(new URL(url)));
  return {
    era: '2025',
    call: async (tool, args, timeoutMs = defaultTimeoutMs) =>
      structured(
        tool,
        await client.callTool({ name: tool, arguments: args }, undefined, { timeout: timeoutMs }),
      ),
    close: async () => await client.close(),
  };
}
