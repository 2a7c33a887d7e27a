/** Reads from a stream's text when the engine sent each chunk, and sets it against when it came here. */

export interface ChunkTimes {
  /** Milliseconds from sending to arrival, one a chunk. */
  readonly delaysMs: number[];
  /** Gap here minus gap at the engine, one a chunk after the first. */
  readonly gapExcessMs: number[];
}

/** Gateways that write the JSON anew may put a blank behind the colon. */
const stamp = /"content":\s*"(\d+\.\d+)"/g;

export class ChunkReader {
  #text = '';
  #seen = 0;
  #lastDelayMs: number | null = null;

  /** Chunks read so far. */
  get seen(): number {
    return this.#seen;
  }

  /** @param text the next piece of the stream. @param atMs when it came. */
  feed(text: string, atMs: number, into: ChunkTimes): void {
    this.#text += text;
    let end = 0;
    stamp.lastIndex = 0;
    for (let match = stamp.exec(this.#text); match !== null; match = stamp.exec(this.#text)) {
      const delayMs = atMs - Number(match[1]);
      into.delaysMs.push(delayMs);
      if (this.#lastDelayMs !== null) into.gapExcessMs.push(delayMs - this.#lastDelayMs);
      this.#lastDelayMs = delayMs;
      this.#seen += 1;
      end = stamp.lastIndex;
    }
    this.#text = this.#text.slice(end);
  }
}
