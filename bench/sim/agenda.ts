/** What is to happen at which virtual time; what was added first comes first among equals. */
import { Heap, type HeapEntry } from '../../scheduler/core/heap.ts';

interface Item {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => void;
  entry: HeapEntry<Item> | null;
}

export class Agenda {
  readonly #items = new Heap<Item>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));
  #order = 0;

  /** Infinity: nothing is to happen. */
  get nextAtMs(): number {
    return this.#items.first?.atMs ?? Number.POSITIVE_INFINITY;
  }

  add(atMs: number, act: () => void): void {
    const item: Item = { atMs, order: this.#order++, act, entry: null };
    item.entry = this.#items.push(item);
  }

  /** Removes what comes next and returns it, not yet done; undefined when nothing is left. */
  takeNext(): (() => void) | undefined {
    const item = this.#items.first;
    if (item === undefined || item.entry === null) return undefined;
    this.#items.remove(item.entry);
    return item.act;
  }
}
