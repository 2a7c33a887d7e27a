import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { cutResult, resultLimitBytes } from '../../../activities/tool-calls/cut-result.ts';
import { renderResult } from '../../../activities/tool-calls/render-result.ts';
import { caseFile } from '../../case-file.ts';

const x11 = caseFile('X11');
const { limit_bytes: limit, outputs } = z
  .object({
    limit_bytes: z.number(),
    outputs: z.record(
      z.string(),
      z.object({ prefix: z.string().default(''), repeat: z.string(), times: z.number(), suffix: z.string() }),
    ),
  })
  .parse(x11.given);
const { each, ...wishes } = z
  .looseObject({ each: z.object({ bytes_max: z.number(), valid_utf8: z.literal(true) }) })
  .parse(x11.expect);
const wishSchema = z.object({
  cut: z.boolean(),
  body_bytes_min: z.number().default(0),
  true_size: z.number().optional(),
});

/** The kept parts and the note between them; null when nothing was cut. */
function partsOf(cut: string): { head: string; cutBytes: number; allBytes: number; tail: string } | null {
  const match =
    /\n\n\[(\d+) of (\d+) bytes of this result were cut here; ask the tool for a smaller part\]\n\n/.exec(
      cut,
    );
  if (match === null) return null;
  const tail = cut.slice(match.index + match[0].length);
  return { head: cut.slice(0, match.index), cutBytes: Number(match[1]), allBytes: Number(match[2]), tail };
}

const bytesOf = (text: string): number => Buffer.byteLength(text);
const isValid = (text: string): boolean => !/\p{Surrogate}/u.test(text) && !text.includes('\ufffd');

describe(`${x11.id} ${x11.title}`, () => {
  it('holds results to the bound of the case', () => {
    expect(resultLimitBytes).toBe(limit);
  });

  it.each(Object.entries(outputs))('%s', (name, { prefix, repeat, times, suffix }) => {
    const wish = wishSchema.parse(wishes[name]);
    const output = prefix + repeat.repeat(times) + suffix;
    const shown = cutResult(output);
    const parts = partsOf(shown);
    expect(bytesOf(shown)).toBeLessThanOrEqual(each.bytes_max);
    expect(isValid(shown)).toBe(true);
    expect(parts !== null).toBe(wish.cut);
    expect(parts?.allBytes).toBe(wish.true_size);
    expect(shown === output).toBe(!wish.cut);
    const { head, tail } = parts ?? { head: shown, tail: '' };
    expect(bytesOf(head) + bytesOf(tail)).toBeGreaterThanOrEqual(wish.body_bytes_min);
  });

  it('is as true of a tool result, whether the tool succeeded or failed', () => {
    for (const { prefix, repeat, times, suffix } of Object.values(outputs)) {
      const text = prefix + repeat.repeat(times) + suffix;
      for (const isError of [false, true]) {
        const { content } = renderResult({ content: [{ type: 'text', text }], isError });
        expect(bytesOf(content)).toBeLessThanOrEqual(each.bytes_max);
        expect(isValid(content)).toBe(true);
        expect(content.match(/were cut here/g)?.length ?? 0).toBeLessThan(2);
      }
    }
  });
});

describe('cutting', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('語', '🚀', 'é', '\n', 'x'.repeat(50)),
  );
  const output = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

  it('never exceeds the bound, and leaves what fits as it is', () => {
    fc.assert(
      fc.property(output, fc.nat({ max: 600 }), (text, limitBytes) => {
        const cut = cutResult(text, limitBytes);
        expect(bytesOf(cut)).toBeLessThanOrEqual(limitBytes);
        expect(cut === text).toBe(bytesOf(text) <= limitBytes);
        // A text may have a replacement mark of its own, and lose it with what is cut.
        expect(isValid(cut) || !isValid(text)).toBe(true);
      }),
      { numRuns: 1_000, examples: [['\uFFFD', 0]] },
    );
  });

  it('keeps the head and the tail, whole characters only, and tells exactly what is missing', () => {
    fc.assert(
      fc.property(output, fc.integer({ min: 150, max: 600 }), (text, limitBytes) => {
        fc.pre(bytesOf(text) > limitBytes);
        const parts = partsOf(cutResult(text, limitBytes));
        expect(parts).not.toBeNull();
        const { head, tail, cutBytes, allBytes } = parts ?? {
          head: '?',
          tail: '?',
          cutBytes: 0,
          allBytes: 0,
        };
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(allBytes).toBe(bytesOf(text));
        expect(bytesOf(head) + bytesOf(tail) + cutBytes).toBe(allBytes);
        // At most one character on each side of the cut, and the digits of the note, stay unused.
        expect(bytesOf(cutResult(text, limitBytes))).toBeGreaterThan(limitBytes - 12);
      }),
    );
  });

  it('gives the head alone where not even the note fits', () => {
    expect(cutResult('x'.repeat(100), 10)).toBe('x'.repeat(10));
    expect(cutResult('語'.repeat(100), 10)).toBe('語'.repeat(3));
    expect(cutResult('x', 0)).toBe('');
  });

  it('makes text of half a surrogate pair, which is none', () => {
    expect(cutResult('a\ud83d')).toBe('a\ufffd');
  });
});
