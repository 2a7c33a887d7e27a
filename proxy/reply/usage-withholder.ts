/**
 * Keeps from the client the one chunk it did not ask for: the usage chunk that comes because the proxy
 * added `stream_options.include_usage`. Every other byte passes unchanged and in order. Pure.
 *
 * How no event is delayed: a client can act on an event only when it has its blank line, so an event that
 * has not all come yet waits for its rest and is judged with it; what came whole passes at once. Comments
 * between events pass as they come, and so does an event too large to be a usage chunk, once that is
 * plain. Chosen over judging each event by its first bytes, because that would rest on the order in which
 * an engine writes its fields. What does not even name usage is read when it has left.
 */
import { mayHaveUsage } from './chat-replies.ts';
import { EventBoundaries, type BoundaryKind } from './event-boundaries.ts';
import type { StreamReader } from './reply-reader.ts';

/** No usage chunk is larger; an event beyond it is passed on as it comes. */
const maxHeldBytes = 64 * 1024;
const lineFeed = Buffer.from('\n');

export class UsageWithholder {
  readonly #reader: StreamReader;
  readonly #boundaries = new EventBoundaries();
  #holding = false;
  #held: Buffer[] | null = null;
  #heldBytes = 0;
  #out: Buffer[] | null = null;
  /** On its way to the client, and not read yet. */
  #unread: Buffer[] | null = null;
  /** The event before was kept back: an LF that still belongs to it is too. */
  #dropped = false;

  constructor(reader: StreamReader) {
    this.#reader = reader;
  }

  /**
   * Takes the next bytes of the engine; returns those that go on to the client now, in order. {@link read} is to be
   * called when they have left.
   */
  push(chunk: Buffer): readonly Buffer[] {
    let start = 0;
    for (;;) {
      const kind = this.#boundaries.next(chunk, start);
      if (kind === null) break;
      this.#turn(kind, chunk, start, this.#boundaries.at);
      start = this.#boundaries.at;
    }
    this.#take(chunk, start, chunk.length);
    return this.#takeOut();
  }

  /** Reads what has passed without a look at it. */
  read(): void {
    if (this.#unread === null) return;
    for (const bytes of this.#unread) this.#reader.feed(bytes);
    this.#unread = null;
    // It is judged already.
    this.#reader.takeLastEvent();
  }

  /** The engine has ended its reply in order: judges what is still held. */
  end(): readonly Buffer[] {
    this.read();
    this.#feedHeld();
    this.#reader.end();
    this.#judge();
    return this.#takeOut();
  }

  #takeOut(): readonly Buffer[] {
    const out = this.#out ?? [];
    this.#out = null;
    return out;
  }

  /** @param start where the boundary before this one is, which is at `end`. */
  #turn(kind: BoundaryKind, chunk: Buffer, start: number, end: number): void {
    if (kind === 'late-lf') {
      if (!this.#dropped) this.#append(chunk.subarray(start, end));
      return;
    }
    this.#take(chunk, start, end);
    if (kind === 'begin') {
      this.#holding = true;
      return;
    }
    this.#holding = false;
    if (kind === 'end' && this.#passesUnread()) return;
    this.read();
    this.#feedHeld();
    // The parser waits after a lone CR for a possible LF: this is it, and a late one tells it nothing new.
    if (kind === 'end-at-cr') this.#reader.feed(lineFeed);
    this.#judge();
  }

  /** A whole event in one piece that names no usage goes on at once. */
  #passesUnread(): boolean {
    const [only] = this.#held ?? [];
    if (only === undefined || this.#held?.length !== 1 || mayHaveUsage(only)) return false;
    if (this.#unread === null) this.#unread = [only];
    else this.#unread.push(only);
    this.#dropped = false;
    this.#release();
    return true;
  }

  #take(chunk: Buffer, start: number, end: number): void {
    if (start === end) return;
    const bytes = start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end);
    if (!this.#holding) {
      this.read();
      this.#reader.feed(bytes);
      this.#append(bytes);
      return;
    }
    if (this.#held === null) this.#held = [bytes];
    else this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes <= maxHeldBytes) return;
    this.read();
    this.#feedHeld();
    this.#release();
    this.#holding = false;
  }

  /** What is held is a whole event, or nothing: it was too large, and its rest has passed. */
  #judge(): void {
    const isUsage = this.#reader.takeLastEvent() === 'usage-only';
    this.#dropped = isUsage && this.#held !== null;
    if (this.#dropped) this.#clear();
    else this.#release();
  }

  #feedHeld(): void {
    for (const bytes of this.#held ?? []) this.#reader.feed(bytes);
  }

  #release(): void {
    for (const bytes of this.#held ?? []) this.#append(bytes);
    this.#clear();
  }

  #clear(): void {
    this.#held = null;
    this.#heldBytes = 0;
  }

  /** Bytes that lie next to each other stay one write. */
  #append(bytes: Buffer): void {
    const last = this.#out?.at(-1);
    if (this.#out === null || last === undefined) this.#out = [bytes];
    else if (last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
      this.#out[this.#out.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + bytes.length);
    } else this.#out.push(bytes);
  }
}
