/** A proxy at the other end of a link, over a WebSocket or in this process: how to reach it and to leave it. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { LocalLinkEvents, SchedulerMessage } from '../../contracts/link-protocol.ts';

export interface LinkPeer {
  /** Bytes that wait to be sent. */
  readonly unsentBytes: number;
  send(message: SchedulerMessage): void;
  /** @param reason what the other end did wrong, in at most 123 bytes. */
  close(code: number, reason: string): void;
  terminate(): void;
  /** null: it cannot be lost without this end knowing. */
  readonly ping: (() => void) | null;
}

/** Decisions that fall together leave in one write: a system call each would be most of what they cost. */
export class WebSocketPeer implements LinkPeer {
  readonly ping = (): void => this.#socket.ping();
  readonly #socket: WebSocket;
  /** What carries it. */
  readonly #stream: Duplex;
  #corked = false;
  #wroteAtOnce = false;

  constructor(socket: WebSocket, stream: Duplex) {
    this.#socket = socket;
    this.#stream = stream;
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(message: SchedulerMessage): void {
    this.#corkForThisTurnOfTheLoop();
    this.#socket.send(JSON.stringify(message));
    if (message.type === 'admit') this.#writeFirstAtOnce();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #corkForThisTurnOfTheLoop(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#wroteAtOnce = false;
    this.#stream.cork();
    setImmediate(() => {
      this.#corked = false;
      this.#stream.uncork();
    });
  }

  /** A client waits for this one. Where many fall together, the others can wait for each other. */
  #writeFirstAtOnce(): void {
    if (this.#wroteAtOnce) return;
    this.#wroteAtOnce = true;
    this.#stream.uncork();
    this.#stream.cork();
  }
}

/** What it sends is received after the call that brought it about has returned, in order. */
export class LocalPeer implements LinkPeer {
  readonly unsentBytes = 0;
  readonly ping = null;
  readonly #events: LocalLinkEvents;
  #ended = false;

  constructor(events: LocalLinkEvents) {
    this.#events = events;
  }

  send(message: SchedulerMessage): void {
    queueMicrotask(() => {
      if (!this.#ended) this.#events.received(message);
    });
  }

  /** Its messages are typed: what the protocol forbids is a fault of this program. */
  close(_code: number, reason: string): void {
    this.terminate();
    throw new Error(`the proxy in this process broke the link's protocol: ${reason}`);
  }

  terminate(): void {
    if (this.#ended) return;
    this.#ended = true;
    queueMicrotask(this.#events.lost);
  }

  /** The proxy has left by itself; returns false when it had before. */
  leave(): boolean {
    const left = !this.#ended;
    this.#ended = true;
    return left;
  }
}
