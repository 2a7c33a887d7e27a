/**
 * Who waits for the end of which run: one long poll a run, shared by all who wait for it and gone with
 * the last of them. A poll that Temporal breaks off is taken up again for as long as somebody waits;
 * how long that is, the waiters bound.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/common';
import { openGrant } from '../../auth/grant.ts';
import { anonymousCaller, type Handle } from '../../contracts/ids.ts';
import { isFinal } from '../../contracts/run.ts';
import { askerOf } from './asker.ts';
import { readEnd, type RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';
import { describeTemporalFault, isTemporaryFault, type TemporalLink } from './temporal-link.ts';

interface Watch {
  readonly stop: AbortController;
  readonly end: Promise<RunView>;
  waiters: number;
}

const retryMs = 1_000;

/** A watch is shared by all who wait: each was asked before what it may see. */
const everyone = askerOf(anonymousCaller, openGrant);

/** Rejects with the signal's reason as soon as it is aborted, whatever `work` does. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export class RunWatches {
  readonly #temporal: TemporalLink;
  readonly #reader: RunReader;
  readonly #watches = new Map<Handle, Watch>();

  constructor(temporal: TemporalLink, reader: RunReader) {
    this.#temporal = temporal;
    this.#reader = reader;
  }

  /** Runs that are being watched now. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * Resolves when the run has ended, with its final answer.
   * @throws UserFault for an unknown handle; the signal's reason when it is aborted first.
   */
  async ended(handle: Handle, signal: AbortSignal): Promise<RunView> {
    signal.throwIfAborted();
    const watch = this.#watches.get(handle) ?? this.#start(handle);
    watch.waiters += 1;
    try {
      return await unlessAborted(watch.end, signal);
    } finally {
      watch.waiters -= 1;
      if (watch.waiters === 0) {
        this.#watches.delete(handle);
        watch.stop.abort();
      }
    }
  }

  #start(handle: Handle): Watch {
    const stop = new AbortController();
    // Each long poll adds a listener, and none takes it off again.
    setMaxListeners(0, stop.signal);
    const watch: Watch = { stop, end: this.#poll(handle, stop.signal), waiters: 0 };
    // The last waiter may have left when the stopped poll rejects.
    watch.end.catch(() => undefined);
    this.#watches.set(handle, watch);
    return watch;
  }

  async #poll(handle: Handle, signal: AbortSignal): Promise<RunView> {
    const { client, settings } = this.#temporal;
    for (;;) {
      try {
        await client.withAbortSignal(signal, async () => await readEnd(client, handle));
        const view = await this.#reader.read(handle, everyone);
        if (isFinal(view.status)) return view;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) throw await this.#reader.unknown(handle);
        if (signal.aborted || !isTemporaryFault(error)) throw describeTemporalFault(error, settings);
      }
      await delay(retryMs, undefined, { signal });
    }
  }
}
