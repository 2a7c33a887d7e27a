/**
 * The tool calls that are being worked on: bounded in number, and known, so that a stop of the server can
 * end their waits and let them answer.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { AbortScope } from '../runs/abort-scope.ts';
import { UserFault } from '../runs/user-fault.ts';

/** Waits included; each costs a few kilobytes and at most a hundred long polls. */
const maxCalls = 2_000;

export class CallsInProgress {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();
  readonly #maxCalls: number;

  constructor(limit: number = maxCalls) {
    this.#maxCalls = limit;
    setMaxListeners(0, this.#stop.signal);
  }

  /** Whether calls are being ended because the server stops. */
  get stopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /**
   * Does `work` with a signal that follows `sources` and the stop of the server.
   * @throws UserFault when too many calls are in progress already.
   */
  async run<T>(sources: readonly AbortSignal[], work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#calls.size >= this.#maxCalls) {
      throw new UserFault('busy', `${this.#maxCalls} calls are in progress here; try again in a moment`);
    }
    const scope = new AbortScope(this.#stop.signal, ...sources);
    const call = work(scope.signal);
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
      scope.end();
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
