import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventBoundaries, type BoundaryKind } from '../../../proxy/reply/event-boundaries.ts';

interface Boundary {
  readonly kind: BoundaryKind;
  readonly at: number;
}

function scan(scanner: EventBoundaries, chunk: Buffer): Boundary[] {
  const found: Boundary[] = [];
  for (let from = 0; ; from = scanner.at) {
    const kind = scanner.next(chunk, from);
    if (kind === null) return found;
    found.push({ kind, at: scanner.at });
  }
}

/** Boundaries at offsets over the whole text, from scans of its pieces. */
function boundaries(pieces: readonly string[]): Boundary[] {
  const scanner = new EventBoundaries();
  let before = 0;
  return pieces.flatMap((piece) => {
    const found = scan(scanner, Buffer.from(piece)).map(({ kind, at }) => ({ kind, at: before + at }));
    before += piece.length;
    return found;
  });
}

/** Where events begin and end, by another way: line by line over the whole text. */
function reference(text: string): { begins: number[]; ends: number[] } {
  const begins: number[] = [];
  const ends: number[] = [];
  let lineStart = 0;
  let open = false;
  for (const match of text.matchAll(/\r\n|\n|\r|$/g)) {
    const line = text.slice(lineStart, match.index);
    if (!open && line !== '' && !line.startsWith(':')) {
      begins.push(lineStart);
      open = true;
    } else if (open && line === '' && match[0] !== '') {
      ends.push(match.index + match[0].length);
      open = false;
    }
    lineStart = match.index + match[0].length;
  }
  return { begins, ends };
}

/** Where events ended in the end: a late LF moves the end by one. */
function settled(found: readonly Boundary[]): { begins: number[]; ends: number[] } {
  const ends: number[] = [];
  for (const { kind, at } of found) {
    if (kind === 'end' || kind === 'end-at-cr') ends.push(at);
    if (kind === 'late-lf') ends[ends.length - 1] = at;
  }
  return { begins: found.flatMap(({ kind, at }) => (kind === 'begin' ? [at] : [])), ends };
}

describe('where events begin and end', () => {
  it.each([
    ['data: a\n\ndata: b\n\n', ['begin 0', 'end 9', 'begin 9', 'end 18']],
    ['data: a\r\n\r\ndata', ['begin 0', 'end-at-cr 10', 'late-lf 11', 'begin 11']],
    ['data: a\r\rdata', ['begin 0', 'end-at-cr 9', 'begin 9']],
    [': ping\n\n:\n\n\nid: 7\n: in it\n\n', ['begin 12', 'end 27']],
    ['\n\n', []],
    ['data: a\n', ['begin 0']],
    ['', []],
  ])('in %j is %j', (text, expected) => {
    expect(boundaries([text]).map(({ kind, at }) => `${kind} ${at}`)).toEqual(expected);
  });

  it('is the same as over the whole text, however it is cut', () => {
    const line = fc.constantFrom('', 'data: x', ': c', ':', 'id');
    const ends = fc.constantFrom('\n', '\r\n', '\r');
    const text = fc.array(fc.tuple(line, ends)).map((lines) => lines.map(([a, b]) => a + b).join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (whole, size) => {
        const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        expect(settled(boundaries(pieces))).toEqual(reference(whole));
      }),
      { numRuns: 500 },
    );
  });

  it('is told with the last byte, also when lines end in a lone CR', () => {
    const scanner = new EventBoundaries();
    expect(scan(scanner, Buffer.from('data: a\r'))).toEqual([{ kind: 'begin', at: 0 }]);
    expect(scan(scanner, Buffer.from('\r'))).toEqual([{ kind: 'end-at-cr', at: 1 }]);
  });
});
