/**
 * The events of a reply that the openai package can read: those with data. It takes any other, such as an
 * engine's keep-alive `event: ping`, for broken JSON and gives the whole reply up. Comments, ids and
 * retry times are dropped with them; a last event that lacks its blank line is kept. An event that is
 * larger than any reply may be fails the stream.
 */
import { createParser } from 'eventsource-parser';

/** UTF-16 units of one event; the longest reply that is taken has an eighth of that. */
const longestEvent = 8_000_000;

/** @param onDone called at `[DONE]`, which the openai package keeps to itself. */
export function usableEvents(onDone: () => void): TransformStream<Uint8Array, Uint8Array> {
  const text = new TextDecoder();
  const bytes = new TextEncoder();
  let usable = '';
  let fault: Error | null = null;
  const parser = createParser({
    maxBufferSize: longestEvent,
    onError: (error) => {
      // Unknown fields are none of our business.
      if (error.type === 'max-buffer-size-exceeded') fault = error;
    },
    onEvent: ({ data }) => {
      if (data.trim() === '') return;
      if (data.trim() === '[DONE]') onDone();
      for (const line of data.split('\n')) usable += `data: ${line}\n`;
      usable += '\n';
    },
  });
  const feed = (piece: string, controller: TransformStreamDefaultController<Uint8Array>): void => {
    parser.feed(piece);
    if (fault !== null) {
      controller.error(fault);
      return;
    }
    if (usable !== '') controller.enqueue(bytes.encode(usable));
    usable = '';
  };
  return new TransformStream({
    transform: (chunk, controller) => feed(text.decode(chunk, { stream: true }), controller),
    flush: (controller) => feed(`${text.decode()}\n\n`, controller),
  });
}
