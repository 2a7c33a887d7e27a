/**
 * Reads a copy of a server-sent event stream: bytes in, the data and names of whole events out.
 * Characters and lines may be cut anywhere. Never throws: an event larger than the bound ends the reading (of the
 * copy; the stream itself is not its business).
 */
import { createParser, type EventSourceParser } from 'eventsource-parser';

/** Characters of one event; larger ones are not read. */
export const maxEventLength = 4 * 1024 * 1024;

export class EventReader {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  readonly #state = { stopped: false };

  /** @param onEvent the name is empty when the event has none. */
  constructor(onEvent: (data: string, name: string) => void) {
    const state = this.#state;
    this.#parser = createParser({
      onEvent(event) {
        // The parser's own bound is on what it buffers, which an event that comes in one piece is not.
        state.stopped ||= event.data.length > maxEventLength;
        if (!state.stopped) onEvent(event.data, event.event ?? '');
      },
      onError(error) {
        if (error.type === 'max-buffer-size-exceeded') state.stopped = true;
      },
      maxBufferSize: maxEventLength,
    });
  }

  /** Whether an event was too large to read, so that what is known is not all. */
  get stopped(): boolean {
    return this.#state.stopped;
  }

  feed(bytes: Uint8Array): void {
    if (!this.#state.stopped) this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The stream has ended: an event without its blank line counts as whole. */
  end(): void {
    if (!this.#state.stopped) this.#parser.feed(`${this.#decoder.decode()}\n\n`);
  }
}
