import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readableJson, visible } from '../../web/model/visible-text.ts';

describe('what a person decides by', () => {
  it.each([
    ['a right-to-left override', 'report\u202efdp.exe', 'report\\u{202e}fdp.exe'],
    ['a zero-width space', 'rm\u200b-rf', 'rm\\u{200b}-rf'],
    ['a carriage return that would hide the line before it', 'keep\rdelete', 'keep\\u{d}delete'],
    ['an escape of terminals', '\u001b[2K', '\\u{1b}[2K'],
    ['a tag character', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a lone surrogate', 'a\ud800', 'a\\u{d800}'],
    ['a filler that looks like nothing', 'a\u3164b', 'a\\u{3164}b'],
  ])('shows %s', (_, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it('leaves writing of every people, line feeds and tabs as they are', () => {
    const text = 'Größe\n\t日本語 עברית العربية 🦉 naïve';
    expect(visible(text)).toBe(text);
  });

  it('puts JSON on lines without a change of what it says', () => {
    const shown = readableJson('{"page":"home","deep":{"list":[1,2]}}');
    expect(shown.split('\n').length).toBeGreaterThan(4);
    expect(JSON.parse(shown)).toEqual({ page: 'home', deep: { list: [1, 2] } });
  });

  it.each(['{"page":"a","page":"b"}', '{"id":12345678901234567890}', '{"page":', 'no JSON', '{"n":1.0}'])(
    'shows %s as it is, since another form of it would say something else',
    (text) => {
      expect(readableJson(text)).toBe(text);
    },
  );

  it('always says what the arguments say, and nothing unseen is in it, whatever they are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (value) => {
        const shown = readableJson(JSON.stringify(value));
        expect(visible(shown)).toBe(shown);
        expect(shown).not.toMatch(/[\u200b-\u200f\u202a-\u202e]/);
        // Spelled out is not JSON any more; put back it says the same.
        const back = shown.replaceAll(/\\u\{([0-9a-f]+)\}/g, (_, hex: string) =>
          String.fromCodePoint(parseInt(hex, 16)),
        );
        expect(JSON.parse(back)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
