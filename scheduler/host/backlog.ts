/** Work that can wait until nothing else is at hand. Bounded: beyond that it is done at once. */

const flushAt = 1_000;

export class Backlog {
  #waiting: (() => void)[] = [];
  #scheduled = false;

  /** Does it after what the event loop has at hand, in the order of calls, or when it is flushed. */
  add(work: () => void): void {
    this.#waiting.push(work);
    if (this.#waiting.length >= flushAt) this.flush();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  flush(): void {
    const due = this.#waiting;
    this.#waiting = [];
    for (const work of due) work();
  }
}
