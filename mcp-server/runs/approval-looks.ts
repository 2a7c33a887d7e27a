/**
 * Notices what happens to approvals while somebody waits for runs: that nothing goes on without a
 * decision (one look at one run a second is enough, since as soon as one is found at work, the others do not
 * matter), that a call waits that nobody has been asked about (a look at ten runs a second, so at the most
 * that one wait covers every ten seconds), or that a call waits no more. All waits together look at most
 * fifty times a second, or a little more often while many runs wait for approval.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Handle } from '../../contracts/ids.ts';
import type { Asker } from './asker.ts';
import type { RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';

export interface ApprovalLooksOptions {
  /** Milliseconds between two looks of a wait, at least. */
  readonly everyMs?: number | undefined;
  /** Milliseconds that a wait goes on when all its runs waited for approval when it began. */
  readonly patienceMs?: number | undefined;
}

const defaultEveryMs = 1_000;
/** Who repeats a wait that cannot end is slowed down by it; who waits for the first time hears of it soon. */
const defaultPatienceMs = 10_000;
/** Milliseconds that each look of a wait adds to the time between two rounds of all waits. */
const msForEachLook = 20;
/** Runs that a wait looks at in one round when it must notice each new approval. */
const looksEachRound = 10;

export class ApprovalLooks {
  readonly #reader: Pick<RunReader, 'find'>;
  readonly #everyMs: number;
  readonly #patienceMs: number;
  /** Of all waits, in one round of each. */
  #looksARound = 0;

  constructor(reader: Pick<RunReader, 'find'>, options: ApprovalLooksOptions = {}) {
    this.#reader = reader;
    this.#everyMs = options.everyMs ?? defaultEveryMs;
    this.#patienceMs = options.patienceMs ?? defaultPatienceMs;
  }

  /**
   * Resolves when all of `open` wait for approval: at once when that is new, else when nothing has changed for as
   * long as patience lasts.
   * @param open the runs that go on; it may shrink meanwhile, and when it is empty nothing is noticed.
   * @param known whether all of them waited already when this wait began.
   * @throws the signal's reason.
   */
  async untilAllWait(
    open: ReadonlySet<Handle>,
    { asker, known }: { readonly asker: Asker; readonly known: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    let patientUntil = known ? performance.now() + this.#patienceMs : 0;
    let atWork: Handle | null = null;
    await this.#rounds(1, signal, async () => {
      atWork = await this.#findAtWork(open, atWork, asker);
      if (atWork !== null) patientUntil = 0;
      return atWork === null && open.size > 0 && performance.now() >= patientUntil;
    });
  }

  /**
   * Resolves when a run of `open` has an approval open that is not one of `except`, or when all of them wait, as far
   * as each was seen last.
   * @param open the runs that go on; it may shrink meanwhile.
   * @throws the signal's reason.
   */
  async untilOpened(
    open: ReadonlySet<Handle>,
    { asker, except }: { readonly asker: Asker; readonly except: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const waiting = new Set<Handle>();
    let queue: Handle[] = [];
    await this.#rounds(Math.min(open.size, looksEachRound), signal, async () => {
      queue = queue.filter((handle) => open.has(handle));
      if (queue.length === 0) queue = [...open];
      const views = await Promise.all(
        queue.splice(0, looksEachRound).map(async (handle) => await this.#look(handle, asker)),
      );
      for (const view of views) {
        if (view === null) continue;
        if (view.pendingApprovals.some(({ id }) => !except.has(id))) return true;
        if (view.status === 'AwaitingApproval') waiting.add(view.handle);
        else waiting.delete(view.handle);
      }
      return open.size > 0 && [...open].every((handle) => waiting.has(handle));
    });
  }

  /**
   * Resolves when this approval is not open any more: decided, or gone with its run.
   * @throws the signal's reason.
   */
  async untilDecided(
    { handle, approvalId }: { readonly handle: Handle; readonly approvalId: string },
    asker: Asker,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#rounds(1, signal, async () => {
      const view = await this.#look(handle, asker);
      return view !== null && view.pendingApprovals.every(({ id }) => id !== approvalId);
    });
  }

  /** @param looks that one round makes; @param round returns whether it was the last. */
  async #rounds(looks: number, signal: AbortSignal, round: () => Promise<boolean>): Promise<void> {
    this.#looksARound += looks;
    try {
      for (;;) {
        await delay(Math.max(this.#everyMs, this.#looksARound * msForEachLook), undefined, { signal });
        if (await round()) return;
      }
    } finally {
      this.#looksARound -= looks;
    }
  }

  /** null: it could not be read now. */
  async #look(handle: Handle, asker: Asker): Promise<RunView | null> {
    const found = await this.#reader.find(handle, asker).catch(() => null);
    return found?.view ?? null;
  }

  /** A run that does not wait for approval, the one that did not before looked at first; null: all wait. */
  async #findAtWork(open: ReadonlySet<Handle>, before: Handle | null, asker: Asker): Promise<Handle | null> {
    const first = before !== null && open.has(before) ? [before] : [];
    for (const handle of new Set([...first, ...open])) {
      const view = await this.#look(handle, asker);
      if (view?.status !== 'AwaitingApproval') return handle;
    }
    return null;
  }
}
