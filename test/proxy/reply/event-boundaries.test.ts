import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventBoundaries } from '../../../proxy/reply/event-boundaries.ts';

/** Offsets over the whole text, from scans of its pieces. */
function boundaries(pieces: readonly string[]): number[] {
  const scanner = new EventBoundaries();
  let before = 0;
  return pieces.flatMap((piece) => {
    const ends = scanner.scan(Buffer.from(piece)).map((end) => before + end);
    before += piece.length;
    return ends;
  });
}

/** The same by another way: line by line over the whole text. */
function reference(text: string): number[] {
  const ends: number[] = [];
  let lineStart = 0;
  for (const match of text.matchAll(/\r\n|\n|\r/g)) {
    if (match.index === lineStart) ends.push(match.index + match[0].length);
    lineStart = match.index + match[0].length;
  }
  return ends;
}

describe('the ends of events', () => {
  it.each([
    ['data: a\n\ndata: b\n\n', [9, 18]],
    ['data: a\r\n\r\ndata', [11]],
    ['data: a\r\rdata', [9]],
    ['\n\n', [1, 2]],
    ['data: a\n', []],
    ['', []],
  ])('of %j are %j', (text, ends) => {
    expect(boundaries([text])).toEqual(ends);
  });

  it('are those of the whole text, however it is cut', () => {
    const line = fc.constantFrom('', 'data: x', ': c');
    const ends = fc.constantFrom('\n', '\r\n', '\r');
    const text = fc.array(fc.tuple(line, ends)).map((lines) => lines.map(([a, b]) => a + b).join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (whole, size) => {
        // A last lone CR is not yet known to end its line: a byte after it shows that.
        const closed = `${whole}.`;
        const pieces = closed.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        expect(boundaries(pieces)).toEqual(reference(closed));
      }),
    );
  });
});
