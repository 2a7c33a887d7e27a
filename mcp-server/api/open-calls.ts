/** What has been asked and is not answered yet, so that a server that stops answers it first. */
import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const drainMs = 2_000;

export class OpenCalls {
  readonly #stop = new AbortController();
  readonly #open = new Set<ServerResponse>();
  #onEmpty = (): void => undefined;

  constructor() {
    // Every call that waits listens to it.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Aborted when the server stops. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** It is open until its answer has been sent, or its client has gone. */
  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onEmpty();
    });
  }

  /** Resolves when all is answered, or after two seconds. */
  async drain(): Promise<void> {
    this.#stop.abort();
    if (this.#open.size === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    const given = new AbortController();
    await Promise.race([empty, delay(drainMs, undefined, { signal: given.signal }).catch(() => undefined)]);
    given.abort();
  }
}
