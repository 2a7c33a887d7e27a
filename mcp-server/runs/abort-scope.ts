/**
 * A signal for one piece of work that follows others, such as "the client has gone" and "this server is
 * stopping". Unlike `AbortSignal.any` it leaves nothing behind on a source that lives on, once ended.
 */
import { setMaxListeners } from 'node:events';

export class AbortScope {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort = (event: Event): void => {
    this.#controller.abort((event.target as AbortSignal).reason);
  };

  constructor(...sources: readonly AbortSignal[]) {
    this.#sources = sources;
    // As many may listen as there are runs in one wait.
    setMaxListeners(0, this.#controller.signal);
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
