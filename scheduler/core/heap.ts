/**
 * A binary heap whose entries can be moved or removed from anywhere: `push` returns a handle for that.
 * Every operation but `first` costs O(log n). Ties are broken by `before`, which must be a total order
 * for the same pushes to give the same pops; the heap adds no order of its own.
 */
export interface HeapEntry<T> {
  readonly value: T;
  /** Position in its heap; -1 once removed. Owned by the heap. */
  index: number;
}

export class Heap<T> {
  readonly #entries: HeapEntry<T>[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The value that comes first; undefined when empty. */
  get first(): T | undefined {
    return this.#entries[0]?.value;
  }

  /** All values, in no particular order. */
  *values(): IterableIterator<T> {
    for (const entry of this.#entries) yield entry.value;
  }

  push(value: T): HeapEntry<T> {
    const entry: HeapEntry<T> = { value, index: this.#entries.length };
    this.#entries.push(entry);
    this.#up(entry);
    return entry;
  }

  /** Restores the order after the value of `entry` came to stand earlier or later. */
  moved(entry: HeapEntry<T>): void {
    this.#up(entry);
    this.#down(entry);
  }

  /** Takes `entry` out; harmless when it was taken out before. */
  remove(entry: HeapEntry<T>): void {
    const { index } = entry;
    if (index < 0) return;
    entry.index = -1;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#put(last, index);
    this.moved(last);
  }

  #put(entry: HeapEntry<T>, index: number): void {
    this.#entries[index] = entry;
    entry.index = index;
  }

  #up(entry: HeapEntry<T>): void {
    let { index } = entry;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex];
      if (parent === undefined || !this.#before(entry.value, parent.value)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(entry, index);
  }

  #down(entry: HeapEntry<T>): void {
    let { index } = entry;
    for (;;) {
      const left = this.#entries[2 * index + 1];
      if (left === undefined) break;
      const right = this.#entries[2 * index + 2];
      const child = right !== undefined && this.#before(right.value, left.value) ? right : left;
      if (!this.#before(child.value, entry.value)) break;
      const childIndex = child.index;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(entry, index);
  }
}
