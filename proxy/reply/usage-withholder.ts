/**
 * Keeps from the client the one chunk it did not ask for: the usage chunk that comes because the proxy
 * added `stream_options.include_usage`. Every other byte passes unchanged and in order. Pure.
 *
 * How no normal event is delayed: until a finish reason has been read, all bytes pass at once, because
 * engines send the usage chunk after it. From the next event on, the few events that are left are held
 * until their blank line, judged, and passed or dropped whole. An event too large to be a usage chunk
 * passes as soon as that is plain. Chosen over judging each event by its first bytes, because that would
 * rest on the order in which an engine writes its fields.
 */
import { EventBoundaries } from './event-boundaries.ts';
import type { StreamReader } from './reply-reader.ts';

/** No usage chunk is larger; an event beyond it is passed on as it comes. */
const maxHeldBytes = 64 * 1024;
const carriageReturn = 0x0d;
const lineFeed = Buffer.from('\n');

export interface FinishingReader extends StreamReader {
  readonly finished: boolean;
}

export class UsageWithholder {
  readonly #reader: FinishingReader;
  readonly #boundaries = new EventBoundaries();
  #holding = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The event now arriving has outgrown the bound: its rest passes too. */
  #oversized = false;

  constructor(reader: FinishingReader) {
    this.#reader = reader;
  }

  /** Takes the next bytes of the engine; returns those that go on to the client now, in order. */
  push(chunk: Buffer): Buffer[] {
    const out: Buffer[] = [];
    let start = 0;
    for (const end of this.#boundaries.scan(chunk)) {
      this.#take(chunk.subarray(start, end), out);
      // An event that ended with the chunk before is only shown to have done so after a lone CR.
      this.#endEvent(end === 0 ? carriageReturn : chunk[end - 1], out);
      start = end;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start), out);
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

  #take(bytes: Buffer, out: Buffer[]): void {
    if (bytes.length === 0) return;
    if (!this.#holding || this.#oversized) {
      this.#reader.feed(bytes);
      append(out, bytes);
      return;
    }
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes <= maxHeldBytes) return;
    this.#feedHeld();
    this.#release(out);
    this.#oversized = true;
  }

  #endEvent(lastByte: number | undefined, out: Buffer[]): void {
    this.#feedHeld();
    // The parser waits after a lone CR for a possible LF; the boundary has shown that none comes.
    if (lastByte === carriageReturn) this.#reader.feed(lineFeed);
    if (this.#holding && !this.#oversized) this.#judge(out);
    this.#oversized = false;
    this.#reader.takeLastEvent();
    if (this.#reader.finished) this.#holding = true;
  }

  #judge(out: Buffer[]): void {
    if (this.#reader.takeLastEvent() === 'usage-only') this.#clear();
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
