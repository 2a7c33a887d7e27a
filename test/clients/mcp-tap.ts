/**
 * A relay between an MCP client and our server, over streamable HTTP, that passes every byte on as it comes
 * and keeps the messages it has seen: what a client declares, asks for and answers can then be told from the
 * protocol itself and not from what the client prints. It changes nothing but the host.
 */
import { request as sendRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { readText, startLoopbackServer } from './loopback-server.ts';

export const tappedMessageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).nullish(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});

export interface TappedMessage {
  readonly from: 'client' | 'server';
  /** Milliseconds since the tap was started. */
  readonly atMs: number;
  /** What the client sent in the header of the request that carried it, or whose answer it came in. */
  readonly versionHeader: string | null;
  readonly message: z.infer<typeof tappedMessageSchema>;
}

export interface McpTap {
  readonly url: string;
  /** In the order in which they passed, the first 5,000. */
  readonly messages: readonly TappedMessage[];
  close(): Promise<void>;
}

const maxMessages = 5_000;

/** @param mcpUrl the endpoint that everything is passed on to, whatever path it was sent to. */
export async function startMcpTap(mcpUrl: string): Promise<McpTap> {
  const target = new URL(mcpUrl);
  const startedAt = performance.now();
  const messages: TappedMessage[] = [];
  const keep = (from: TappedMessage['from'], versionHeader: string | null, text: string): void => {
    for (const message of messagesIn(text)) {
      if (messages.length === maxMessages) return;
      messages.push({ from, atMs: Math.round(performance.now() - startedAt), versionHeader, message });
    }
  };
  const server = await startLoopbackServer(async (request, response) => {
    const version = String(request.headers['mcp-protocol-version'] ?? '') || null;
    const body = await readText(request);
    keep('client', version, body);
    await relay({ target, request, response, body }, (text) => keep('server', version, text));
  });
  return { url: `${server.url}${target.pathname}`, messages, close: async () => await server.close() };
}

function messagesIn(text: string): z.infer<typeof tappedMessageSchema>[] {
  try {
    return [JSON.parse(text) as unknown].flat().flatMap((one) => {
      const { data } = tappedMessageSchema.safeParse(one);
      return data === undefined ? [] : [data];
    });
  } catch {
    // An empty body, or no JSON: passed on all the same.
    return [];
  }
}

interface Exchange {
  readonly target: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
}

/** Resolves when the exchange is over; either side that goes takes the other one with it. */
async function relay(
  { target, request, response, body }: Exchange,
  keep: (text: string) => void,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const headers = { ...request.headers, host: target.host };
    delete headers['transfer-encoding'];
    const upstream = sendRequest(target, { method: request.method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true;
      const parser = createParser({ onEvent: ({ data }) => keep(data) });
      let whole = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        if (isStream) parser.feed(text);
        else whole += text;
        response.write(text);
      });
      answer.once('end', () => {
        if (!isStream) keep(whole);
        response.end();
      });
      answer.once('close', () => {
        if (!answer.complete) response.destroy();
        resolve();
      });
    });
    upstream.once('error', (error) => {
      if (response.destroyed) resolve();
      else reject(error);
    });
    response.once('close', () => upstream.destroy());
    upstream.end(body);
  });
}
