/**
 * Finds where server-sent events begin and end in a stream of bytes, however it is cut: an event ends with
 * a blank line, and lines end in LF, CRLF or CR. Pure; keeps a few flags and no bytes.
 *
 * Comments and blank lines before the first field of an event do not belong to it: they are for keeping a
 * connection alive and must never wait for an event.
 */
const lf = 0x0a;
const cr = 0x0d;
const colon = 0x3a;
const byteOrderMark = [0xef, 0xbb, 0xbf] as const;

export type BoundaryKind =
  /** The first field of an event begins here. */
  | 'begin'
  /** The event's blank line ends here, whole. */
  | 'end'
  /** As `end`, but an LF that comes next still belongs to it. */
  | 'end-at-cr'
  /** Such an LF ends here. */
  | 'late-lf';

export class EventBoundaries {
  /** Bytes of a mark at the beginning of the stream that have been seen; the mark is no part of a line. */
  #markBytes = 0;
  #inEvent = false;
  #lineIsEmpty = true;
  #afterCr = false;
  /** The line end just seen has ended an event. */
  #endedAtCr = false;
  #at = 0;

  /** Where in the chunk the last boundary is: behind the byte that ends something, or at the one that begins. */
  get at(): number {
    return this.#at;
  }

  /**
   * The first boundary at or after `from`; null: the rest of the chunk has none. Each byte is looked at once: `from`
   * is 0 or where the last one was.
   */
  next(chunk: Uint8Array, from: number): BoundaryKind | null {
    for (let index = from === 0 ? this.#skipMark(chunk) : from; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === lf && this.#afterCr) {
        const isLate = this.#endedAtCr;
        this.#afterCr = false;
        this.#endedAtCr = false;
        if (isLate) return this.#found('late-lf', index + 1);
        continue;
      }
      if (this.#lineIsEmpty && !this.#inEvent && byte !== colon && byte !== lf && byte !== cr) {
        this.#inEvent = true;
        return this.#found('begin', index);
      }
      this.#afterCr = byte === cr;
      this.#endedAtCr = false;
      if (byte !== lf && byte !== cr) {
        this.#lineIsEmpty = false;
        continue;
      }
      const endsEvent = this.#lineIsEmpty && this.#inEvent;
      this.#lineIsEmpty = true;
      if (!endsEvent) continue;
      this.#inEvent = false;
      this.#endedAtCr = byte === cr;
      return this.#found(byte === cr ? 'end-at-cr' : 'end', index + 1);
    }
    return null;
  }

  #found(kind: BoundaryKind, at: number): BoundaryKind {
    this.#at = at;
    return kind;
  }

  /** Offset of the first byte that is none of a byte order mark. */
  #skipMark(chunk: Uint8Array): number {
    let index = 0;
    while (this.#markBytes < byteOrderMark.length && index < chunk.length) {
      if (chunk[index] !== byteOrderMark[this.#markBytes]) {
        this.#markBytes = byteOrderMark.length;
        break;
      }
      this.#markBytes += 1;
      index += 1;
    }
    return index;
  }
}
