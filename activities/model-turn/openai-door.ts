/**
 * The openai package's way to the proxy. The package makes requests and tells of errors; the events of a
 * reply it is spared, and so are we web streams in front of it: for a turn's worker they cost more than all
 * the rest. It follows no redirect and asks for no compression: the proxy has neither.
 */
import type { Readable } from 'node:stream';
import OpenAI from 'openai';
import type { Agent, RequestInit as UndiciRequestInit } from 'undici';
import { responseHeaders } from '../../contracts/headers.ts';

/** A held turn may wait for days before its first byte, so only the connection's own liveness bounds it. */
const noTimeoutMs = 2 ** 31 - 1;

export interface ProxyDoor {
  readonly proxyUrl: string;
  readonly agent: Agent;
  readonly token: string | null;
}

/** What is learnt of a response beside what the openai package tells. */
export interface StreamWatch {
  /** The events of an answer that is a reply; null: no such answer has come. */
  body: Readable | null;
  heldMs: number;
  /** The body of an answer that is an error: the openai package keeps only one shape of it. */
  errorBody: string;
}

/** A client for one turn. @param watch filled in when an answer comes. */
export function openAiClient({ proxyUrl, agent, token }: ProxyDoor, watch: StreamWatch): OpenAI {
  return new OpenAI({
    baseURL: `${proxyUrl}/v1`,
    apiKey: 'fermata',
    maxRetries: 0,
    timeout: noTimeoutMs,
    logLevel: 'off',
    fetch: async (url, init) => {
      const { origin, pathname, search } = new URL(urlText(url));
      const { statusCode, headers, body } = await agent.request({
        origin,
        path: pathname + search,
        method: init?.method === 'POST' ? 'POST' : 'GET',
        headers: withToken(init?.headers as UndiciRequestInit['headers'], token),
        body: typeof init?.body === 'string' ? init.body : null,
        signal: init?.signal ?? null,
      });
      const ok = statusCode >= 200 && statusCode < 300;
      const head = { status: statusCode, headers: flatHeaders(headers) };
      const heldMs = Number(head.headers[responseHeaders.heldMs] ?? 0);
      if (Number.isFinite(heldMs) && heldMs > 0) watch.heldMs = Math.round(heldMs);
      if (ok && head.headers['content-type']?.includes('event-stream') === true) {
        watch.body = body;
        return new Response(null, head);
      }
      const text = await readShort(body, ok ? longestListBytes : longestErrorBytes);
      if (!ok) watch.errorBody = text;
      return new Response(text === '' ? null : text, head);
    },
  });
}

function flatHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** Bytes of a list of models that are read. */
const longestListBytes = 4 * 1024 * 1024;
/** Bytes of an error that are read; an engine's is far smaller. */
const longestErrorBytes = 64 * 1024;

/** The beginning of a body as text, at most so many bytes; the rest is not waited for. */
async function readShort(body: Readable, limitBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece as Uint8Array);
    bytes += (piece as Uint8Array).length;
    if (bytes >= limitBytes) break;
  }
  return Buffer.concat(pieces).toString('utf8', 0, limitBytes);
}

function urlText(url: string | URL | Request): string {
  return typeof url === 'string' ? url : url instanceof URL ? url.href : url.url;
}

/** In place of the key that the openai package insists on. */
export function withToken(given: UndiciRequestInit['headers'], token: string | null): Record<string, string> {
  const headers = new Headers(given as ConstructorParameters<typeof Headers>[0]);
  headers.delete('authorization');
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  return Object.fromEntries(headers);
}
