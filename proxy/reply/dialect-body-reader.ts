/** Reads a copy of a whole reply, within a bound, in the dialect of its API. */
import { parseObject } from '../foreign-json.ts';
import { FactCollector, type ReplyFacts } from './reply-facts.ts';
import type { ReplyDialect, ReplyReader } from './reply-reader.ts';

/** Bytes of a whole reply that are kept to be read; larger ones are not read at all. */
const maxBodyBytes = 4 * 1024 * 1024;

export class DialectBodyReader implements ReplyReader {
  readonly #dialect: ReplyDialect;
  readonly #collector = new FactCollector();
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #complete = true;

  constructor(dialect: ReplyDialect) {
    this.#dialect = dialect;
  }

  feed(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > maxBodyBytes) {
      this.#chunks = [];
      this.#complete = false;
      return;
    }
    this.#chunks.push(bytes);
  }

  end(): void {
    if (!this.#complete) return;
    const body = parseObject(Buffer.concat(this.#chunks).toString('utf8'));
    this.#chunks = [];
    this.#complete = body !== null;
    if (body === null) return;
    this.#collector.closed = true;
    this.#dialect.readBody(body, this.#collector);
  }

  get finishing(): boolean {
    return this.#collector.closed;
  }

  facts(): ReplyFacts {
    return this.#collector.facts(this.#complete);
  }
}
