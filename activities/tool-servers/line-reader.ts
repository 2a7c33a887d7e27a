/**
 * Cuts a stream of bytes into lines, whatever the pieces it comes in: a cut inside a character or a line
 * changes nothing. Bounded: a line over the limit is dropped as a whole, however long it goes on. Pure.
 */
import { StringDecoder } from 'node:string_decoder';

export interface LineReader {
  push(bytes: Buffer): void;
  /** The stream has ended: what came after the last line feed is a line too. */
  end(): void;
}

export interface LineEvents {
  /** Gets each line that is not blank, without its line end. */
  onLine(line: string): void;
  /** A line went over the limit. */
  onTooLong(): void;
}

/** @param longestLine UTF-16 units. */
export function createLineReader(longestLine: number, events: LineEvents): LineReader {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  let dropping = false;

  const add = (text: string): void => {
    if (dropping || text === '') return;
    parts.push(text);
    length += text.length;
    if (length <= longestLine) return;
    parts = [];
    dropping = true;
    events.onTooLong();
  };
  const endLine = (): void => {
    const line = parts.join('').trim();
    parts = [];
    length = 0;
    dropping = false;
    if (line !== '') events.onLine(line);
  };
  return {
    push(bytes) {
      const text = decoder.write(bytes);
      let start = 0;
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', start)) {
        add(text.slice(start, at));
        endLine();
        start = at + 1;
      }
      add(text.slice(start));
    },
    end() {
      add(decoder.end());
      endLine();
    },
  };
}
