import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineReader } from '../../../activities/tool-servers/line-reader.ts';
import { readStdioLine } from '../../../activities/tool-servers/stdio-messages.ts';

function read(pieces: readonly Buffer[], longest = 1_000): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const reader = createLineReader(longest, {
    onLine: (line) => lines.push(line),
    onTooLong: () => (tooLong += 1),
  });
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return { lines, tooLong };
}

/** The bytes of a text, cut where the numbers say. */
function cut(text: string, at: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const cuts = [
    0,
    ...at.map((number) => number % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return cuts.slice(1).map((to, index) => bytes.subarray(cuts[index], to));
}

describe('lines of a stream', () => {
  it('are the same wherever it is cut, inside a character too', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll(/[\r\n]/g, ''));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), fc.constantFrom('\n', '\r\n'), (texts, at, end) => {
        const expected = texts.map((text) => text.trim()).filter((text) => text !== '');
        expect(read(cut(texts.join(end), at)).lines).toEqual(expected);
      }),
    );
  });

  it('are dropped as a whole over the limit, and the next one is read', () => {
    fc.assert(
      fc.property(fc.integer({ min: 11, max: 90 }), fc.array(fc.nat()), (length, at) => {
        const { lines, tooLong } = read(cut(`short\n${'x'.repeat(length)}\nnext\n`, at), 10);
        expect(lines).toEqual(['short', 'next']);
        expect(tooLong).toBe(1);
      }),
    );
  });
});

describe('a line of stdout', () => {
  it.each([
    ['42', 'noise'],
    ['null', 'noise'],
    ['[]', 'noise'],
    ['[1,2]', 'noise'],
    ['{"lvl":"debug"}', 'noise'],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 'noise'],
    ['DEBUG sending {"jsonrpc":"2.0","id":1,"result":{}}', 'noise'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 'messages'],
    ['[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"notifications/x"}]', 'messages'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 'broken-request'],
  ])('%s is %s', (line, kind) => {
    expect(readStdioLine(line).kind).toBe(kind);
  });

  it('never breaks the reader, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        expect(['noise', 'messages', 'broken-request']).toContain(readStdioLine(line).kind);
      }),
    );
  });
});
