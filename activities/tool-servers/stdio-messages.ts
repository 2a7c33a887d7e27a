/**
 * What one line on a tool server's stdout is. Pure. Servers print banners and logs there, some of it valid
 * JSON: only JSON-RPC counts, a batch of the 2025-03-26 protocol included.
 */
import { parseJSONRPCMessage, type JSONRPCMessage } from '@modelcontextprotocol/client';

export type StdioLine =
  | { readonly kind: 'messages'; readonly messages: readonly JSONRPCMessage[] }
  /** A request that breaks the protocol: it has an id, so it waits for an answer. */
  | { readonly kind: 'broken-request'; readonly id: string | number }
  | { readonly kind: 'noise' };

export function readStdioLine(line: string): StdioLine {
  const value = parseJson(line);
  if (Array.isArray(value)) {
    const messages = value.map(parseMessage).filter((message) => message !== null);
    return messages.length > 0 && messages.length === value.length
      ? { kind: 'messages', messages }
      : { kind: 'noise' };
  }
  const message = parseMessage(value);
  if (message !== null) return { kind: 'messages', messages: [message] };
  const id = idOfRequest(value);
  return id === null ? { kind: 'noise' } : { kind: 'broken-request', id };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return null;
  }
}

function parseMessage(value: unknown): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return null;
  }
}

function idOfRequest(value: unknown): string | number | null {
  if (typeof value !== 'object' || value === null) return null;
  const { jsonrpc, method, id } = value as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0' || typeof method !== 'string') return null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
