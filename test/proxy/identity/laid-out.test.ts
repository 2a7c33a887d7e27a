import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LaidOut, type LaidOutItem } from '../../../proxy/identity/laid-out.ts';

const texts = fc.string({ unit: 'binary' });
const items = fc.array(fc.oneof(fc.record({ text: texts }), fc.record({ text: texts, frame: texts })));
const copy = (bytes: Buffer): string => bytes.toString('hex');
const hex = (text: string): string => Buffer.from(text).toString('hex');

function joined(item: LaidOutItem): string {
  return item.frame === undefined ? `${item.text}\n` : `${item.text}\n${item.frame}\n`;
}

describe('a conversation laid out', () => {
  it('is its head and its items, each on its lines', () => {
    fc.assert(
      fc.property(texts, items, (head, list) => {
        const laidOut = new LaidOut(head, list);
        const whole = `${head}${list.map(joined).join('')}`;
        expect(laidOut.part('', 0, laidOut.length, copy)).toBe(hex(whole));
        expect(laidOut.part('', 0, laidOut.headEnd, copy)).toBe(hex(head));
        for (const [index, item] of list.entries()) {
          const from = laidOut.startOf(index);
          expect(laidOut.part('', from, laidOut.startOf(index + 1), copy)).toBe(hex(joined(item)));
        }
      }),
    );
  });

  it('has a part after something else, and is as it was afterwards', () => {
    fc.assert(
      fc.property(texts, items, fc.base64String({ maxLength: 64 }), fc.nat(), (head, list, before, at) => {
        const laidOut = new LaidOut(head, list);
        const whole = laidOut.part('', 0, laidOut.length, copy);
        const from = at % (laidOut.length + 1);
        expect(laidOut.part(before, from, laidOut.length, copy)).toBe(hex(before) + whole.slice(2 * from));
        expect(laidOut.part('', 0, laidOut.length, copy)).toBe(whole);
      }),
    );
  });

  it.each([300_000, 400_000, 1_100_000])('of %i characters is whole, whatever memory it takes', (length) => {
    const long = '\u6771'.repeat(length);
    const laidOut = new LaidOut('head', [{ text: long, frame: 'f' }]);
    const whole = laidOut.part('', 0, laidOut.length, (bytes) => bytes.toString());
    expect(whole === `head${long}\nf\n`).toBe(true);
  });
});
