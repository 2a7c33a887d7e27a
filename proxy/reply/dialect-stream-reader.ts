/** Reads a copy of a streamed reply in the dialect of its API. */
import { parseObject } from '../foreign-json.ts';
import { EventReader } from './event-reader.ts';
import { FactCollector, type ReplyFacts } from './reply-facts.ts';
import type { EventKind, ReplyDialect, StreamReader } from './reply-reader.ts';

/** The mark that ends a stream of OpenAI's, in whatever API an engine writes it. */
const doneMark = '[DONE]';

export class DialectStreamReader implements StreamReader {
  readonly #dialect: ReplyDialect;
  readonly #collector = new FactCollector();
  readonly #events = new EventReader((data, type) => this.#onEvent(data, type));
  #lastEvent: EventKind | null = null;

  constructor(dialect: ReplyDialect) {
    this.#dialect = dialect;
  }

  feed(bytes: Uint8Array): void {
    this.#events.feed(bytes);
  }

  end(): void {
    this.#events.end();
  }

  get finishing(): boolean {
    return this.#collector.closed || this.#collector.finishReason !== null;
  }

  facts(): ReplyFacts {
    return this.#collector.facts(!this.#events.stopped);
  }

  takeLastEvent(): EventKind | null {
    const last = this.#lastEvent;
    this.#lastEvent = null;
    return last;
  }

  #onEvent(data: string, type: string): void {
    this.#lastEvent = 'other';
    if (data === doneMark) {
      this.#collector.closed = true;
      return;
    }
    const event = parseObject(data);
    if (event !== null) this.#lastEvent = this.#dialect.readEvent(event, type, this.#collector);
  }
}
