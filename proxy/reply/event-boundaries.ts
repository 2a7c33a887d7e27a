/**
 * Finds where server-sent events end in a stream of bytes, however it is cut: an event ends with a
 * blank line, and lines end in LF, CRLF or CR. Pure; keeps three flags and no bytes.
 */
const lf = 0x0a;
const cr = 0x0d;

export class EventBoundaries {
  #lineIsEmpty = true;
  #afterCr = false;
  /** A CR has just ended a blank line; an LF may still follow and belongs to it. */
  #blankLineAtCr = false;

  /**
   * Offsets in `chunk` at which an event has just ended; 0 when it ended with the chunk before and only
   * this one's first byte shows it.
   */
  scan(chunk: Uint8Array): number[] {
    const ends: number[] = [];
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index];
      if (this.#blankLineAtCr) {
        this.#blankLineAtCr = false;
        ends.push(byte === lf ? index + 1 : index);
        if (byte === lf) {
          this.#afterCr = false;
          continue;
        }
      }
      if (byte === lf && this.#afterCr) {
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = byte === cr;
      if (byte !== lf && byte !== cr) {
        this.#lineIsEmpty = false;
      } else if (!this.#lineIsEmpty) {
        this.#lineIsEmpty = true;
      } else if (byte === lf) {
        ends.push(index + 1);
      } else {
        this.#blankLineAtCr = true;
      }
    }
    return ends;
  }
}
