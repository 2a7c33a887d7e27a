import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutMiddle, cutTogether, fairShares, jsonBytes } from '../../mcp-server/runs/fair-cut.ts';

const text = fc.string({ unit: 'binary', maxLength: 2_000 });

describe('fair shares', () => {
  it('give everyone all of it when it fits', () => {
    expect(fairShares([5, 1, 3], 9)).toEqual([5, 1, 3]);
  });

  it('cut the large, not the small', () => {
    expect(fairShares([1_000, 10, 500], 310)).toEqual([150, 10, 150]);
  });

  it('never give more than there is or more than is needed, nor less than an equal part to who needs it', () => {
    const cases = fc.tuple(fc.array(fc.nat(10_000), { minLength: 1, maxLength: 20 }), fc.nat(50_000));
    fc.assert(
      fc.property(cases, ([sizes, budget]) => {
        const shares = fairShares(sizes, budget);
        expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(budget);
        const part = Math.floor(budget / sizes.length);
        sizes.forEach((size, index) => {
          expect(shares[index]).toBeLessThanOrEqual(size);
          expect(shares[index]).toBeGreaterThanOrEqual(Math.min(size, part));
        });
      }),
    );
  });
});

describe('cutting a text', () => {
  it('leaves a text that fits as it is', () => {
    expect(cutMiddle('short', 5)).toBe('short');
  });

  it('keeps head and tail and says how much is gone', () => {
    const cut = cutMiddle(`HEAD${'x'.repeat(10_000)}TAIL`, 400);
    expect(cut).toMatch(/^HEADx+\n\[cut: (\d+) of 10008 characters left out here\]\nx+TAIL$/);
    const left = Number(/cut: (\d+)/.exec(cut)?.[1]);
    expect(cut.replace(/\n.*\n/, '').length + left).toBe(10_008);
  });

  it('counts what a client gets: line breaks and quotes take two bytes, control characters six', () => {
    expect(jsonBytes('a\n"é\u0001')).toBe(1 + 2 + 2 + 2 + 6);
  });

  it('never splits a character and never takes more room than given', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 120, max: 3_000 }), (given, room) => {
        const cut = cutMiddle(given, room);
        expect(jsonBytes(cut)).toBeLessThanOrEqual(room);
        // A lone surrogate would not survive the way through UTF-8.
        expect(Buffer.from(cut, 'utf8').toString('utf8')).toBe(cut);
      }),
    );
  });

  it('cuts a megabyte without a line break', () => {
    expect(jsonBytes(cutMiddle('é'.repeat(1_000_000), 60_000))).toBeLessThanOrEqual(60_000);
  });

  it('shares the room of one answer, so that one long text does not silence the others', () => {
    const [long = '', short, other = ''] = cutTogether(
      ['x'.repeat(100_000), 'fine', 'y'.repeat(100_000)],
      2_004,
    );
    expect(short).toBe('fine');
    expect(jsonBytes(long)).toBeGreaterThan(900);
    expect(jsonBytes(other)).toBeGreaterThan(900);
    expect(jsonBytes(long) + jsonBytes(other)).toBeLessThanOrEqual(2_000);
  });
});
