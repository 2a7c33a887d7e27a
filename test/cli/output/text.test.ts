import { array, assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alignColumns, count, duration, oneLine, plural, withoutControls } from '../../../cli/output/text.ts';

describe('columns', () => {
  it('stand under each other, whatever colours their cells have', () => {
    expect(
      alignColumns([
        ['a', '\u001b[31mred\u001b[39m', 'x'],
        ['long', 'b', 'y'],
      ]),
    ).toEqual(['a     \u001b[31mred\u001b[39m  x', 'long  b    y']);
  });

  it('leave no blanks at the end of a line', () => {
    assert(
      property(array(array(string({ maxLength: 8 }), { maxLength: 4 }), { maxLength: 6 }), (rows) => {
        for (const line of alignColumns(rows)) expect(line).toBe(line.trimEnd());
      }),
    );
  });
});

describe('text from elsewhere', () => {
  it('cannot steer the terminal', () => {
    expect(oneLine('a\u001b[2Jb\u0007\nc\u009b31m')).toBe('a[2Jb c31m');
    expect(withoutControls('two\nlines\tand\u001b]0;title\u0007')).toBe('two\nlines\tand]0;title');
  });

  it('is cut by characters, not in the middle of one', () => {
    expect(oneLine('🦀🦀🦀🦀', 3)).toBe('🦀🦀…');
    expect(oneLine('abc', 3)).toBe('abc');
  });
});

describe('numbers', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [59_940, '59.9 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
  ])('of %d ms are %s', (ms, words) => expect(duration(ms)).toBe(words));

  it.each([
    [999, '999'],
    [12_345, '12.3k'],
    [4_500_000, '4.5M'],
  ])('of %d are %s', (value, words) => expect(count(value)).toBe(words));

  it('have their words in one or many', () => {
    expect([plural(1, 'run'), plural(2, 'run')]).toEqual(['1 run', '2 runs']);
  });
});
