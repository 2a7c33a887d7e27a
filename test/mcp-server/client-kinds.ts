/** The five kinds of client that must all get along with the server, and how each is connected. */
import { resolve } from 'node:path';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import {
  connectAsking,
  connectStdio,
  type AnswerForm,
  type StdioCommand,
  type TestClient,
} from './mcp-clients.ts';
import { connectRaw } from './raw-client.ts';
import type { Stack } from './stack.ts';

export const kinds = [
  'SDK 1 over HTTP',
  'SDK 1 over stdio',
  'SDK 2 modern',
  'SDK 2 legacy',
  'raw HTTP',
] as const;
export type Kind = (typeof kinds)[number];

/** Whether it is asked by ending its call; the others are asked while it goes on. */
export function endsTheCall(kind: Kind): boolean {
  return kind === 'SDK 2 modern' || kind === 'raw HTTP';
}

/** A server of its own for one client, on the runs of `stack`. */
export function stdioCommand({ proxyUrl, config: { temporal, taskQueue } }: Stack): StdioCommand {
  const entry = resolve(import.meta.dirname, 'stdio-main.ts');
  const args = ['--import', 'tsx', entry, temporal.address, taskQueue, proxyUrl];
  return { command: process.execPath, args, cwd: resolve(import.meta.dirname, '..', '..') };
}

/** @param answer absent: the client cannot be asked. */
export async function connectKind(
  kind: Kind,
  { stack, server }: { readonly stack: Stack; readonly server: McpServerHandle },
  answer?: AnswerForm,
): Promise<TestClient> {
  const url = `${server.url}/mcp`;
  switch (kind) {
    case 'SDK 1 over HTTP':
      return await connectAsking('sdk', url, { answer });
    case 'SDK 1 over stdio':
      return await connectStdio(stdioCommand(stack), { answer });
    case 'SDK 2 modern':
      return await connectAsking('modern', url, { answer });
    case 'SDK 2 legacy':
      return await connectAsking('legacy', url, { answer });
    case 'raw HTTP':
      return connectRaw(url, { answer });
  }
}
