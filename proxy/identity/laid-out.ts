/**
 * The text of a conversation as bytes in a row, for hashes of its parts: what stands before the items, then each
 * item's text and frame, a line feed behind each. Joined texts would be flattened and copied several times a request; this is written once,
 * into memory that the next one uses again: it is good until then.
 */

/** As much of an item as is laid out. */
export interface LaidOutItem {
  readonly text: string;
  readonly frame?: string;
}

/** Before the first byte: room for what stands before a part while it is hashed. */
const margin = 64;
/** A conversation beyond it gets memory of its own. */
const sharedBytes = 1024 * 1024;
const shared = Buffer.allocUnsafeSlow(sharedBytes);
const covered = Buffer.allocUnsafeSlow(margin);
const bytesOfCharacter = 3;

export class LaidOut {
  /** Bytes of what stands before the items. */
  readonly headEnd: number;
  readonly length: number;
  readonly #bytes: Buffer;
  readonly #starts: number[] = [];

  constructor(head: string, items: readonly LaidOutItem[]) {
    this.#bytes = room(head, items);
    let end = margin + this.#bytes.write(head, margin);
    this.headEnd = end - margin;
    for (const { text, frame } of items) {
      this.#starts.push(end - margin);
      end += this.#bytes.write(text, end);
      end += this.#bytes.write(frame === undefined ? '\n' : `\n${frame}\n`, end);
    }
    this.length = end - margin;
  }

  /** Offset of the item's first byte. */
  startOf(index: number): number {
    return this.#starts[index] ?? this.length;
  }

  /**
   * @param before at most 64 bytes, as if they stood before the part.
   * @param use reads the bytes at once, and keeps none.
   */
  part<T>(before: string, from: number, to: number, use: (bytes: Buffer) => T): T {
    const start = margin + from - Buffer.byteLength(before);
    this.#bytes.copy(covered, 0, start, margin + from);
    this.#bytes.write(before, start);
    try {
      return use(this.#bytes.subarray(start, margin + to));
    } finally {
      covered.copy(this.#bytes, start, 0, margin + from - start);
    }
  }
}

function room(head: string, items: readonly LaidOutItem[]): Buffer {
  let characters = head.length;
  for (const { text, frame = '' } of items) characters += frame.length + text.length + 2;
  if (margin + bytesOfCharacter * characters <= sharedBytes) return shared;
  let bytes = margin + Buffer.byteLength(head);
  for (const { text, frame = '' } of items) bytes += Buffer.byteLength(frame) + Buffer.byteLength(text) + 2;
  return bytes <= sharedBytes ? shared : Buffer.allocUnsafeSlow(bytes);
}
