/**
 * Notices when nothing of what somebody waits for can go on without a decision, so that the wait can end
 * and say so. Usually one look at one run a second is enough: as soon as one run is found at work, the
 * others do not matter. All waits together look at most fifty times a second, or a little more often
 * while many runs wait for approval.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Handle } from '../../contracts/ids.ts';
import type { Asker } from './asker.ts';
import type { RunReader } from './run-reader.ts';

export interface ApprovalLooksOptions {
  /** Milliseconds between two looks of a wait, at least. */
  readonly everyMs?: number | undefined;
  /** Milliseconds that a wait goes on when all its runs waited for approval when it began. */
  readonly patienceMs?: number | undefined;
}

const defaultEveryMs = 1_000;
/** Who repeats a wait that cannot end is slowed down by it; who waits for the first time hears of it soon. */
const defaultPatienceMs = 10_000;
/** Milliseconds that each further wait adds to the time between two looks of all of them. */
const msForEachWait = 20;

export class ApprovalLooks {
  readonly #reader: Pick<RunReader, 'find'>;
  readonly #everyMs: number;
  readonly #patienceMs: number;
  #waits = 0;

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
    this.#waits += 1;
    try {
      for (;;) {
        await delay(Math.max(this.#everyMs, this.#waits * msForEachWait), undefined, { signal });
        atWork = await this.#findAtWork(open, atWork, asker);
        if (atWork !== null) patientUntil = 0;
        else if (open.size > 0 && performance.now() >= patientUntil) return;
      }
    } finally {
      this.#waits -= 1;
    }
  }

  /** A run that does not wait for approval, the one that did not before looked at first; null: all wait. */
  async #findAtWork(open: ReadonlySet<Handle>, before: Handle | null, asker: Asker): Promise<Handle | null> {
    const first = before !== null && open.has(before) ? [before] : [];
    for (const handle of new Set([...first, ...open])) {
      const found = await this.#reader.find(handle, asker).catch(() => null);
      if (found?.view.status !== 'AwaitingApproval') return handle;
    }
    return null;
  }
}
