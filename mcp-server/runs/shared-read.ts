/**
 * A slow answer that many ask for: read once for all who ask at the same time, kept for a while. A
 * failed read is told to all who waited for it and not kept.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  readonly #keepMs: number;
  readonly #now: () => number;
  #kept: { readonly value: T; readonly at: number } | null = null;
  #pending: Promise<T> | null = null;

  /** @param keepMs milliseconds an answer is kept. */
  constructor(read: () => Promise<T>, keepMs: number, now: () => number = Date.now) {
    this.#read = read;
    this.#keepMs = keepMs;
    this.#now = now;
  }

  async get(): Promise<T> {
    if (this.#kept !== null && this.#now() - this.#kept.at < this.#keepMs) return this.#kept.value;
    this.#pending ??= this.#readOnce();
    return await this.#pending;
  }

  async #readOnce(): Promise<T> {
    try {
      const value = await this.#read();
      this.#kept = { value, at: this.#now() };
      return value;
    } finally {
      this.#pending = null;
    }
  }
}
