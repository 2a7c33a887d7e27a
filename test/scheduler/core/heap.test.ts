import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Heap, type HeapEntry } from '../../../scheduler/core/heap.ts';

interface Item {
  key: number;
  readonly id: number;
}

const before = (a: Item, b: Item): boolean => a.key < b.key || (a.key === b.key && a.id < b.id);

it('gives its values in order, whatever was pushed, moved and removed before', () => {
  const operation = fc.record({
    kind: fc.constantFrom('push', 'push', 'move', 'remove'),
    key: fc.integer({ min: 0, max: 9 }),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 120 }), (operations) => {
      const heap = new Heap<Item>(before);
      const live: HeapEntry<Item>[] = [];
      for (const [id, { kind, key, pick }] of operations.entries()) {
        const entry = live[pick % Math.max(1, live.length)];
        if (kind === 'push' || entry === undefined) live.push(heap.push({ key, id }));
        else if (kind === 'move') {
          entry.value.key = key;
          heap.moved(entry);
        } else {
          heap.remove(entry);
          heap.remove(entry);
          live.splice(live.indexOf(entry), 1);
        }
        const sorted = live.map(({ value }) => value).toSorted((a, b) => (before(a, b) ? -1 : 1));
        expect(heap.first).toBe(sorted[0]);
        expect(heap.size).toBe(sorted.length);
        expect(new Set(heap.values())).toEqual(new Set(sorted));
      }
    }),
  );
});
