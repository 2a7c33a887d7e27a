/**
 * The events of a streamed reply: the data of each, as it comes. Comments, ids, names and retry times are
 * dropped, and so is an event without data, such as an engine's keep-alive `event: ping`; a last event that
 * lacks its blank line is kept. An event that is larger than any reply may be fails the reading.
 */
import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';

/** UTF-16 units of one event; the longest reply that is taken has an eighth of that. */
const longestEvent = 8_000_000;

/**
 * Reads `body` to its end. It is read piece by piece as it comes, without a stream in between: a reply has
 * hundreds of events, and many replies come at once.
 * @param onData what it throws ends the reading with that.
 */
export async function readEvents(body: Readable, onData: (data: string) => void): Promise<void> {
  const text = new TextDecoder();
  const parser = createParser({
    maxBufferSize: longestEvent,
    onError: (error) => {
      // Unknown fields are none of our business.
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
    onEvent: ({ data }) => {
      if (data.trim() !== '') onData(data);
    },
  });
  await new Promise<void>((resolve, reject) => {
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        reject(error);
        body.destroy();
      }
    };
    body.on('data', (piece: Buffer) => attempt(() => parser.feed(text.decode(piece, { stream: true }))));
    body.on('end', () =>
      attempt(() => {
        parser.feed(`${text.decode()}\n\n`);
        resolve();
      }),
    );
    body.on('error', reject);
    // After an end or an error it says nothing new.
    body.on('close', () => reject(new Error('the connection was closed')));
  });
}
