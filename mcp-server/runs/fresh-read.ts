/**
 * A slow answer that must not be older than the question: whoever asks while a read is on its way gets
 * the next one, together with all who ask until that begins. So many who ask cost two reads at most. Nothing is
 * kept. A failed read is told to all who waited for it.
 */
export class FreshRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  async get(): Promise<T> {
    if (this.#running === null) return await this.#start();
    this.#next ??= this.#running.then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return await this.#next;
  }

  async #startNext(): Promise<T> {
    this.#next = null;
    return await this.#start();
  }

  #start(): Promise<T> {
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }
}
