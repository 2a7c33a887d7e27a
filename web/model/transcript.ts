/** The messages of one run, as far as they are read: a page at its start or its end, and more on demand. */
import { batch, signal } from '@preact/signals';
import { get, wordsOf } from '../api/request.ts';
import type { Transcript, TranscriptEntry } from '../api/types.ts';

const pageSize = 100;

export class TranscriptModel {
  readonly #handle: string;
  readonly entries = signal<readonly TranscriptEntry[]>([]);
  readonly total = signal<number | null>(null);
  readonly fault = signal<string | null>(null);
  readonly loading = signal(false);
  /** Asked for while another reading went on. */
  #next: (() => Promise<void>) | null = null;

  constructor(handle: string) {
    this.#handle = handle;
  }

  /** What has come since; the first time, its beginning. */
  async follow(): Promise<void> {
    const from = this.entries.peek().at(-1)?.index ?? -1;
    const isAtEnd = this.total.peek() === null || from + 1 >= (this.total.peek() ?? 0);
    // Who reads in the middle is not moved on.
    if (isAtEnd) await this.#read(from + 1);
    else await this.#read((this.total.peek() ?? 0) + 1);
  }

  async more(): Promise<void> {
    await this.#read((this.entries.peek().at(-1)?.index ?? -1) + 1);
  }

  /** From its end on, what is before it left out until it is asked for. */
  async newest(): Promise<void> {
    const total = this.total.peek() ?? 0;
    this.entries.value = [];
    await this.#read(Math.max(0, total - pageSize));
  }

  async earlier(): Promise<void> {
    const first = this.entries.peek()[0]?.index ?? 0;
    const from = Math.max(0, first - pageSize);
    await this.#read(from, first - from);
  }

  /** One entry uncut. */
  async whole(index: number): Promise<void> {
    await this.#read(index, 1, true);
  }

  async #read(offset: number, limit = pageSize, full = false): Promise<void> {
    if (this.loading.peek()) {
      this.#next = async () => await this.#read(offset, limit, full);
      return;
    }
    this.loading.value = true;
    try {
      const query = `offset=${offset}&limit=${limit}${full ? '&full=true' : ''}`;
      const page = await get<Transcript>(`runs/${this.#handle}/transcript?${query}`);
      batch(() => {
        this.#take(page);
        this.fault.value = null;
      });
    } catch (error) {
      this.fault.value = wordsOf(error);
    } finally {
      this.loading.value = false;
    }
    const next = this.#next;
    this.#next = null;
    await next?.();
  }

  #take({ total, entries }: Transcript): void {
    // A very long run leaves out whole rounds, and its indexes move: what was read before is another now.
    const isShorter = total < (this.total.peek() ?? 0);
    const known = new Map(isShorter ? [] : this.entries.peek().map((entry) => [entry.index, entry]));
    for (const entry of entries) {
      const before = known.get(entry.index);
      // One that was read uncut stays so.
      if (before === undefined || before.cutFromBytes !== null) known.set(entry.index, entry);
    }
    this.total.value = total;
    this.entries.value = [...known.values()].toSorted((a, b) => a.index - b.index);
  }
}
