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

export interface Boundary {
  readonly kind: BoundaryKind;
  /** Offset in the chunk, behind the byte that ends something or at the one that begins. */
  readonly at: number;
}

export class EventBoundaries {
  /** Bytes of a mark at the beginning of the stream that have been seen; the mark is no part of a line. */
  #markBytes = 0;
  #inEvent = false;
  #lineIsEmpty = true;
  #afterCr = false;
  /** The line end just seen has ended an event. */
  #endedAtCr = false;

  /** The boundaries in `chunk`, in order. */
  scan(chunk: Uint8Array): Boundary[] {
    const found: Boundary[] = [];
    for (let index = this.#skipMark(chunk); index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === lf && this.#afterCr) {
        if (this.#endedAtCr) found.push({ kind: 'late-lf', at: index + 1 });
        this.#afterCr = false;
        this.#endedAtCr = false;
        continue;
      }
      this.#afterCr = byte === cr;
      this.#endedAtCr = false;
      if (byte === lf || byte === cr) {
        if (this.#lineIsEmpty && this.#inEvent) {
          this.#inEvent = false;
          this.#endedAtCr = byte === cr;
          found.push({ kind: byte === cr ? 'end-at-cr' : 'end', at: index + 1 });
        }
        this.#lineIsEmpty = true;
        continue;
      }
      if (this.#lineIsEmpty && byte !== colon && !this.#inEvent) {
        this.#inEvent = true;
        found.push({ kind: 'begin', at: index });
      }
      this.#lineIsEmpty = false;
    }
    return found;
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
