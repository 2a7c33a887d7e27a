/** The proxy's real forwarding path from an engine's bytes to a client's, without sockets. */
import type { Agent, Dispatcher } from 'undici';
import type { ApiDescriptor } from '../../../proxy/apis/api-descriptor.ts';
import { chatCompletions } from '../../../proxy/apis/chat-completions.ts';
import { completions } from '../../../proxy/apis/completions.ts';
import { messages } from '../../../proxy/apis/messages.ts';
import { responses } from '../../../proxy/apis/responses.ts';
import { Relay, type RelayResult } from '../../../proxy/forward/relay.ts';
import type { FuzzApi } from './random-events.ts';
import type { RandomStream } from './random-streams.ts';

const descriptors: Record<FuzzApi, ApiDescriptor> = {
  chat: chatCompletions,
  completions,
  responses,
  messages,
};

export interface Forwarded {
  readonly seen: Buffer;
  readonly result: RelayResult;
}

/** @param askedForUsage by the client itself. */
export async function forwardStream(
  { api, pieces, ending }: RandomStream,
  askedForUsage: boolean,
): Promise<Forwarded> {
  const asked = askedForUsage ? { stream_options: { include_usage: true } } : {};
  const body = JSON.stringify({ model: 'm', messages: [], prompt: '', stream: true, ...asked });
  const request = descriptors[api].readRequest(Buffer.from(body));
  const seen: Buffer[] = [];
  const relay = new Relay({
    agent: engineThatSends(pieces, ending),
    upstream: { origin: 'http://127.0.0.1', path: '/', headers: [], body: Buffer.alloc(0) },
    client: {
      onGone: () => {},
      writeHead: () => {},
      write: (bytes) => {
        seen.push(Buffer.from(bytes));
        return true;
      },
      end: () => {},
      destroy: () => {},
    },
    ownHeaders: () => [],
    withholdUsage: request.withholdUsage,
    readStream: () => request.streamReader(),
    readBody: () => request.bodyReader(),
    idleMs: 60_000,
    keepBack: () => false,
    onFirstByte: () => {},
    onByte: () => {},
    onFinishing: () => {},
  });
  relay.start();
  const result = await relay.done;
  return { seen: Buffer.concat(seen), result };
}

function engineThatSends(pieces: readonly Buffer[], ending: 'end' | 'error'): Agent {
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: ['content-type', 'text/event-stream'],
    rawTrailers: [],
    abort: () => {},
    pause: () => {},
    resume: () => {},
  } as unknown as Dispatcher.DispatchController;
  const dispatch = (_request: Dispatcher.DispatchOptions, handler: Relay): boolean => {
    handler.onRequestStart(controller);
    handler.onResponseStart(controller, 200);
    for (const piece of pieces) handler.onResponseData(controller, piece);
    if (ending === 'end') handler.onResponseEnd();
    else handler.onResponseError(controller, new Error('read ECONNRESET'));
    return true;
  };
  return { dispatch } as unknown as Agent;
}
