/**
 * A signal for one piece of work that follows others. Unlike that of `AbortSignal.any` it goes with the work: Node
 * keeps a composite signal that somebody listens to for as long as none of its sources aborts, so for ever where
 * the work ends well and whoever listened does not say that it listens no more.
 */
export class AbortScope {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort = (event: Event): void => {
    this.#controller.abort((event.target as AbortSignal).reason);
  };

  constructor(...sources: readonly AbortSignal[]) {
    this.#sources = sources;
    for (const source of sources) {
      if (source.aborted) this.#controller.abort(source.reason);
      else source.addEventListener('abort', this.#onAbort, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  /** Follows its sources no more; a signal that was not aborted stays so. */
  end(): void {
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }
}
