/**
 * MCP over Streamable HTTP with what the SDK's transport leaves open: sockets without time limits of their
 * own (a call has its two, and a subscription none), bodies with a bound, a call whose answer breaks off
 * fails at once instead of at its limit, a cancelled call frees its socket, and the session is ended on
 * the server at close. It opens nothing again by itself.
 */
import {
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { Agent } from 'undici';
import { traceparentName } from '../../contracts/trace-context.ts';
import { AbortScope } from '../../contracts/abort-scope.ts';
import { boundedFetch } from './bounded-fetch.ts';

const connectTimeoutMs = 10_000;
const endSessionMs = 1_000;

export function createHttpTransport(url: URL, headers: Readonly<Record<string, string>>): Transport {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeoutMs } });
  const http = new StreamableHTTPClientTransport(url, {
    requestInit: { headers },
    fetch: async (target, init) => await boundedFetch(agent, target, init),
  });
  const inner: Transport = http;
  let closing: Promise<void> | null = null;

  const requests = createRequests(inner);
  const transport: Transport = {
    hasPerRequestStream: true,
    get sessionId() {
      return inner.sessionId;
    },
    setProtocolVersion: (version) => http.setProtocolVersion(version),
    async start() {
      Object.assign(inner, {
        onmessage(message: JSONRPCMessage) {
          if (!('method' in message) && message.id !== undefined) requests.answered(message.id);
          transport.onmessage?.(message);
        },
        onerror: (error: Error) => transport.onerror?.(error),
        onclose: () => transport.onclose?.(),
      });
      await inner.start();
    },
    async send(message, options) {
      if ('method' in message && 'id' in message) {
        await requests.send(message, message.id, options);
        return;
      }
      try {
        await inner.send(message, options);
      } finally {
        const cancelled = cancelledRequest(message);
        if (cancelled !== null) requests.abort(cancelled);
      }
    },
    async close() {
      closing ??= (async () => {
        await endSession(http);
        await inner.close();
        await agent.destroy();
      })();
      await closing;
    },
  };
  return transport;
}

interface Requests {
  /** Fails when the answer breaks off too. Resolves at its end, if at all: nobody waits for that. */
  send(message: JSONRPCMessage, id: string | number, options?: TransportSendOptions): Promise<void>;
  answered(id: string | number): void;
  /** Ends its exchange, and so frees its socket. */
  abort(id: string | number): void;
}

/** The requests on a transport that have no answer yet. */
function createRequests(transport: Transport): Requests {
  const waiting = new Map<string | number, AbortController>();
  return {
    async send(message, id, options = {}) {
      const abort = new AbortController();
      waiting.set(id, abort);
      const { requestSignal } = options;
      const scope = new AbortScope(abort.signal, ...(requestSignal === undefined ? [] : [requestSignal]));
      const { signal } = scope;
      await new Promise<void>((resolve, reject) => {
        const fail = (error: unknown): void => {
          scope.end();
          waiting.delete(id);
          reject(error instanceof Error ? error : new Error(String(error)));
        };
        signal.addEventListener('abort', () => waiting.delete(id), { once: true });
        const onRequestStreamEnd = (): void => {
          scope.end();
          options.onRequestStreamEnd?.();
          if (waiting.has(id)) fail(new SdkError(SdkErrorCode.ConnectionClosed, 'its answer broke off'));
          resolve();
        };
        transport
          .send(message, {
            ...options,
            ...traced(message, options),
            requestSignal: signal,
            onRequestStreamEnd,
          })
          .catch(fail);
      });
    },
    answered: (id) => void waiting.delete(id),
    abort: (id) => waiting.get(id)?.abort(),
  };
}

/** What a request's `_meta` says of its trace, as the header of the same name. */
function traced(
  message: JSONRPCMessage,
  { headers }: TransportSendOptions,
): Pick<TransportSendOptions, 'headers'> {
  const traceparent = 'params' in message ? message.params?._meta?.[traceparentName] : undefined;
  return typeof traceparent === 'string' ? { headers: { ...headers, [traceparentName]: traceparent } } : {};
}

/** Which request a message gives up; null: it is none of these. */
function cancelledRequest(message: JSONRPCMessage): string | number | null {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return null;
  const id = message.params?.['requestId'];
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** A server that does not answer keeps the session until it forgets it by itself. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, endSessionMs);
  });
  await Promise.race([transport.terminateSession().catch(() => undefined), timeout]);
  clearTimeout(timer);
}
