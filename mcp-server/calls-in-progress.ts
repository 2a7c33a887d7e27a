/** The tool calls that are being worked on, so that a stop can end their waits and let them answer. */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export class CallsInProgress {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();

  constructor() {
    setMaxListeners(0, this.#stop.signal);
  }

  /** Aborted once no call should wait for anything any more. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  async track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** @param limitMs milliseconds the calls have to answer. */
  async drain(limitMs: number): Promise<void> {
    this.#stop.abort();
    if (this.#calls.size === 0) return;
    const enough = new AbortController();
    const limit = delay(limitMs, undefined, { signal: enough.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.#calls), limit]);
    enough.abort();
    // What was answered just now still has to be written.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
