/**
 * The clients that tests talk with, behind one small interface: both eras of the protocol, from two
 * packages, over HTTP and over stdio. A client that is given `answer` declares that it shows forms.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as SdkStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as SdkTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

export interface ToolReply {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: Record<string, unknown>;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: Progress) => void;
  /** Milliseconds until the client gives up. Default a minute. */
  readonly timeout?: number;
  /** Whether progress starts that time anew. */
  readonly resetTimeoutOnProgress?: boolean;
}

/** A form that was put to the person at the client. */
export interface ShownForm {
  readonly message: string;
  readonly requestedSchema: unknown;
  /** Aborted when the server takes the form back, or the call is over. */
  readonly signal: AbortSignal;
}

export type FormAnswer =
  | { readonly action: 'accept'; readonly content: { readonly allow: boolean } }
  | { readonly action: 'decline' | 'cancel' };

/** What the person does; what it throws the client tells the server as an error. */
export type AnswerForm = (form: ShownForm) => Promise<FormAnswer>;

export interface ConnectOptions {
  readonly name?: string;
  readonly headers?: Record<string, string>;
  /** Absent: the client declares no elicitation. */
  readonly answer?: AnswerForm | undefined;
}

export interface TestClient {
  readonly name: string;
  toolNames(): Promise<string[]>;
  call(tool: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolReply>;
  close(): Promise<void>;
  /** Goes without a word: connections break, a session stays behind. */
  drop(): Promise<void>;
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

const timeout = 60_000;

/** A client of the old package over whichever transport. */
async function connectSdk(
  transport: SdkTransport | SdkStdioTransport,
  { name = 'test-sdk', answer }: ConnectOptions,
): Promise<TestClient> {
  const capabilities = answer === undefined ? {} : { elicitation: {} };
  const client = new SdkClient({ name, version: '1.0.0' }, { capabilities });
  if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
      if (params.mode === 'url') throw new Error('not a form');
      const { message, requestedSchema } = params;
      return { ...(await answer({ message, requestedSchema, signal })) };
    });
  }
  await client.connect(transport);
  return {
    name: 'sdk',
    toolNames: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (tool, args = {}, options = {}) =>
      toReply(await client.callTool({ name: tool, arguments: args }, undefined, { timeout, ...options })),
    async close() {
      if (transport instanceof SdkTransport) await transport.terminateSession();
      await client.close();
    },
    drop: () => client.close(),
  };
}

/** A client of the new packages, of either era, over whichever transport. */
async function connectNew(
  kind: 'modern' | 'legacy',
  transport: StreamableHTTPClientTransport | StdioClientTransport,
  { name = `test-${kind}`, answer }: ConnectOptions,
): Promise<TestClient> {
  const mode = kind === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const);
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name, version: '1.0.0' }, { versionNegotiation: { mode }, capabilities });
  if (answer !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq: { signal } }) => {
      if (params.mode === 'url') throw new Error('not a form');
      const { message, requestedSchema } = params;
      return { ...(await answer({ message, requestedSchema, signal })) };
    });
  }
  await client.connect(transport);
  return {
    name: kind,
    toolNames: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (tool, args = {}, given = {}) =>
      toReply(await client.callTool({ name: tool, arguments: args }, { timeout, ...given })),
    async close() {
      if (kind === 'legacy' && 'terminateSession' in transport) await transport.terminateSession();
      await client.close();
    },
    drop: () => client.close(),
  };
}

/** `modern`: 2026-07-28, stateless. `legacy`: the same package, with sessions. `sdk`: the old package. */
export type ClientKind = 'modern' | 'legacy' | 'sdk';

export async function connectAsking(
  kind: ClientKind,
  url: string,
  options: ConnectOptions = {},
): Promise<TestClient> {
  const { name = `test-${kind}`, headers = {} } = options;
  const address = new URL(url);
  const requestInit = { headers };
  if (kind === 'sdk') {
    return await connectSdk(new SdkTransport(address, { requestInit }), { ...options, name });
  }
  return await connectNew(kind, new StreamableHTTPClientTransport(address, { requestInit }), options);
}

export async function connectClient(
  kind: ClientKind,
  url: string,
  name = `test-${kind}`,
  headers: Record<string, string> = {},
): Promise<TestClient> {
  return await connectAsking(kind, url, { name, headers });
}

/** How a process is started that serves over its stdin and stdout. */
export interface StdioCommand {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
}

/** Over stdio. */
export async function connectStdio(
  command: StdioCommand,
  options: ConnectOptions = {},
  kind: ClientKind = 'sdk',
): Promise<TestClient> {
  const parameters = { ...command, stderr: 'ignore' as const };
  if (kind === 'sdk') return await connectSdk(new SdkStdioTransport(parameters), options);
  return await connectNew(kind, new StdioClientTransport(parameters), options);
}
