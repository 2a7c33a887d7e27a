/**
 * Writes one reply to its client, event by event, through a gate: a test may hold it and let single events
 * pass, and a fault may cut it after some. Each event is its own write, flushed at once. What a slow client
 * does not take stays in the socket's buffer; a reply's length bounds it.
 */
import type { ServerResponse } from 'node:http';

export interface ReplyGate {
  /** Events that may still pass. */
  permits: number;
  /** Events after which the connection is closed; null: never. */
  readonly cutAfter: number | null;
}

export interface ReplyStream {
  push(event: string): void;
  /** No more events will come: the response ends when the gate has let all of them pass. */
  finish(): void;
  /** Lets `count` more events pass. */
  release(count: number): void;
  cut(): void;
}

export interface ReplyStreamOptions {
  readonly response: ServerResponse;
  readonly contentType: string;
  readonly gate: ReplyGate;
  readonly onEvent: () => void;
  readonly onEnd: (how: 'finished' | 'failed') => void;
}

export function createReplyStream({
  response,
  contentType,
  gate,
  onEvent,
  onEnd,
}: ReplyStreamOptions): ReplyStream {
  const pending: string[] = [];
  let finishing = false;
  let ended: 'finished' | 'failed' | null = null;
  let sent = 0;
  let unflushed = 0;
  // Closing a socket throws away what was written and not flushed: a cut waits for that.
  const closeIfFlushed = (): void => {
    if (ended === 'failed' && unflushed === 0) response.destroy();
  };
  const end = (how: 'finished' | 'failed'): void => {
    if (ended !== null) return;
    ended = how;
    onEnd(how);
    if (how === 'finished') response.end();
    else closeIfFlushed();
  };
  const flush = (): void => {
    if (ended !== null) return;
    while (gate.permits > 0 && pending.length > 0) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': contentType });
      unflushed += 1;
      response.write(pending.shift() ?? '', () => {
        unflushed -= 1;
        closeIfFlushed();
      });
      gate.permits -= 1;
      sent += 1;
      onEvent();
      if (gate.cutAfter !== null && sent >= gate.cutAfter) {
        end('failed');
        return;
      }
    }
    if (finishing && pending.length === 0) end('finished');
  };
  return {
    push(event) {
      pending.push(event);
      flush();
    },
    finish() {
      finishing = true;
      flush();
    },
    release(count) {
      gate.permits += count;
      flush();
    },
    cut() {
      end('failed');
    },
  };
}
