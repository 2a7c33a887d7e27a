/**
 * The client's side of one request: whether it is still there, and the only way to write to it. Respects
 * its pace: a client that stops reading is reported, and cut off after a bound.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReplySink } from './reply-sink.ts';

const ignored = (): void => {};

export class ClientExchange implements ReplySink {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #stallMs: number;
  #gone = false;
  #onGone: (() => void) | null = null;
  #stallTimer: NodeJS.Timeout | null = null;
  /** What to do once the buffer has drained; null: it is not full. */
  #onDrain: (() => void) | null = null;

  /** @param stallMs a client that reads nothing for this long is cut off. */
  constructor(request: IncomingMessage, response: ServerResponse, stallMs: number) {
    this.request = request;
    this.response = response;
    this.#stallMs = stallMs;
    // A write that meets a closed connection is no fault of ours: `close` tells of it.
    response.on('error', ignored);
    // It comes once; a listener that is taken away again costs more to hold.
    response.on('close', () => {
      this.#clearStall();
      if (response.writableFinished) return;
      this.#gone = true;
      this.#onGone?.();
    });
  }

  /** The client has left, or was cut off, before its response was complete. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Replaces what happens when the client leaves; runs it at once if it has. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.#gone) listener();
  }

  /** @param pairs name, value, name, value, … */
  writeHead(status: number, pairs: readonly string[]): void {
    this.response.writeHead(status, [...pairs]);
    // Head and first bytes leave in one packet when they came in one.
    process.nextTick(() => {
      if (!this.response.writableEnded && !this.response.destroyed) this.response.flushHeaders();
    });
  }

  /**
   * @returns true when the client keeps up; false when nothing more must be written before `onDrain`.
   */
  write(bytes: Uint8Array, onDrain: () => void, onStall: () => void): boolean {
    if (this.response.write(bytes)) return true;
    this.#stallTimer ??= setTimeout(() => {
      onStall();
      this.#cutOff();
    }, this.#stallMs);
    // Several writes may meet a full buffer before it drains; it drains once.
    if (this.#onDrain === null) {
      this.response.once('drain', () => {
        this.#clearStall();
        const drained = this.#onDrain;
        this.#onDrain = null;
        drained?.();
      });
    }
    this.#onDrain = onDrain;
    return false;
  }

  /** Writes a whole response. */
  send(status: number, pairs: readonly string[], body: Buffer): void {
    const others = pairs.filter((_, index) => pairs[index - (index % 2)]?.toLowerCase() !== 'content-length');
    this.response.writeHead(status, [...others, 'content-length', String(body.length)]);
    this.response.write(body);
    this.end();
  }

  /** Ends the response in order; a client that does not read its rest is cut off after the bound. */
  end(): void {
    this.response.end();
    if (this.response.writableFinished || this.#gone) return;
    this.#cutOffIfStalled();
  }

  /**
   * Closes the connection without the end of the response, so that the client sees that it is not complete.
   * What was written leaves first; a client that does not read it is cut off after the bound.
   */
  destroy(): void {
    this.request.socket.destroySoon();
    if (!this.request.socket.destroyed) this.#cutOffIfStalled();
  }

  #cutOffIfStalled(): void {
    this.#clearStall();
    this.#stallTimer = setTimeout(() => this.#cutOff(), this.#stallMs);
  }

  #cutOff(): void {
    this.#clearStall();
    this.response.destroy();
    this.request.socket.destroy();
  }

  #clearStall(): void {
    if (this.#stallTimer !== null) clearTimeout(this.#stallTimer);
    this.#stallTimer = null;
  }
}
