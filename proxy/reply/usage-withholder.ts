/**
 * Keeps from the client the one chunk it did not ask for: the usage chunk that comes because the proxy
 * added `stream_options.include_usage`. Every other byte passes unchanged and in order. Pure.
 *
 * How no event is delayed: a client can act on an event only when it has its blank line, so an event that
 * has not all come yet waits for its rest and is judged with it; what came whole passes at once. Comments
 * between events pass as they come, and so does an event too large to be a usage chunk, once that is
 * plain. Chosen over judging each event by its first bytes, because that would rest on the order in which
 * an engine writes its fields.
 */
import { EventBoundaries, type BoundaryKind } from './event-boundaries.ts';
import type { StreamReader } from './reply-reader.ts';

/** No usage chunk is larger; an event beyond it is passed on as it comes. */
const maxHeldBytes = 64 * 1024;
const lineFeed = Buffer.from('\n');

export class UsageWithholder {
  readonly #reader: StreamReader;
  readonly #boundaries = new EventBoundaries();
  #holding = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The event before was kept back: an LF that still belongs to it is too. */
  #dropped = false;

  constructor(reader: StreamReader) {
    this.#reader = reader;
  }

  /** Takes the next bytes of the engine; returns those that go on to the client now, in order. */
  push(chunk: Buffer): Buffer[] {
    const out: Buffer[] = [];
    let start = 0;
    for (const { kind, at } of this.#boundaries.scan(chunk)) {
      this.#turn(kind, chunk.subarray(start, at), out);
      start = at;
    }
    this.#take(chunk.subarray(start), out);
    return out;
  }

  /** The engine has ended its reply in order: judges what is still held. */
  end(): Buffer[] {
    const out: Buffer[] = [];
    this.#feedHeld();
    this.#reader.end();
    this.#judge(out);
    return out;
  }

  /** @param bytes what came since the boundary before this one. */
  #turn(kind: BoundaryKind, bytes: Buffer, out: Buffer[]): void {
    if (kind === 'late-lf') {
      if (!this.#dropped) append(out, bytes);
      return;
    }
    this.#take(bytes, out);
    if (kind === 'begin') {
      this.#holding = true;
      return;
    }
    this.#feedHeld();
    // The parser waits after a lone CR for a possible LF: this is it, and a late one tells it nothing new.
    if (kind === 'end-at-cr') this.#reader.feed(lineFeed);
    this.#judge(out);
    this.#holding = false;
  }

  #take(bytes: Buffer, out: Buffer[]): void {
    if (bytes.length === 0) return;
    if (!this.#holding) {
      this.#reader.feed(bytes);
      append(out, bytes);
      return;
    }
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes <= maxHeldBytes) return;
    this.#feedHeld();
    this.#release(out);
    this.#holding = false;
  }

  /** What is held is a whole event, or nothing: it was too large, and its rest has passed. */
  #judge(out: Buffer[]): void {
    const isUsage = this.#reader.takeLastEvent() === 'usage-only';
    this.#dropped = isUsage && this.#held.length > 0;
    if (this.#dropped) this.#clear();
    else this.#release(out);
  }

  #feedHeld(): void {
    for (const bytes of this.#held) this.#reader.feed(bytes);
  }

  #release(out: Buffer[]): void {
    for (const bytes of this.#held) append(out, bytes);
    this.#clear();
  }

  #clear(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }
}

/** Bytes that lie next to each other stay one write. */
function append(out: Buffer[], bytes: Buffer): void {
  const last = out.at(-1);
  if (last?.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
    out[out.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + bytes.length);
  } else {
    out.push(bytes);
  }
}
