/**
 * One run as it is looked at: read as a whole, and read again, at most once a second, when it or a run of
 * its tree has changed. What cannot be read now keeps what was read before, with words about it.
 */
import { signal } from '@preact/signals';
import { ApiError, get, wordsOf } from '../api/request.ts';
import type { RunDetail, RunTree, Timeline } from '../api/types.ts';
import { watchRuns } from './live.ts';
import { isAtWork } from './run-order.ts';

const everyMs = 1_000;
/** Events follow a change by a second or two; a run at work is looked at by itself, too. */
const lookMs = 4_000;

export class RunPageModel {
  readonly handle: string;
  readonly detail = signal<RunDetail | null>(null);
  readonly timeline = signal<Timeline | null>(null);
  readonly tree = signal<RunTree | null>(null);
  readonly fault = signal<string | null>(null);
  /** There is no such run. */
  readonly isUnknown = signal(false);
  /** Grows whenever the transcript may be another one. */
  readonly version = signal(0);
  readonly #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #again = false;

  constructor(handle: string) {
    this.handle = handle;
    const unwatch = watchRuns((run) => {
      const root = this.detail.peek()?.root;
      if (run === null || run.handle === handle || run.root === root) this.refresh();
    });
    this.#ended.signal.addEventListener('abort', unwatch);
    this.refresh();
  }

  /** Soon; many wishes are one. */
  refresh(): void {
    if (this.#ended.signal.aborted) return;
    if (this.#isReading) {
      this.#again = true;
      return;
    }
    this.#wait(Math.max(0, this.#readAtMs + everyMs - performance.now()));
  }

  close(): void {
    this.#ended.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), ms);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    this.#again = false;
    this.#readAtMs = performance.now();
    const { signal: ended } = this.#ended;
    const path = `runs/${this.handle}`;
    const results = await Promise.allSettled([
      get<RunDetail>(path, { signal: ended }),
      get<Timeline>(`${path}/timeline`, { signal: ended }),
      get<RunTree>(`tree/${this.handle}`, { signal: ended }),
    ]);
    this.#isReading = false;
    if (ended.aborted) return;
    const [detail, timeline, tree] = results;
    if (detail.status === 'fulfilled') this.#takeDetail(detail.value);
    if (timeline.status === 'fulfilled') this.timeline.value = timeline.value;
    if (tree.status === 'fulfilled') this.tree.value = tree.value;
    const failed = results.find((result) => result.status === 'rejected');
    this.fault.value = failed === undefined ? null : wordsOf(failed.reason);
    this.isUnknown.value = failed?.reason instanceof ApiError && failed.reason.status === 404;
    if (this.#again) this.#wait(everyMs);
    else if (failed !== undefined || isAtWork(this.detail.value?.status ?? 'Running')) this.#wait(lookMs);
  }

  #takeDetail(detail: RunDetail): void {
    const before = this.detail.peek();
    this.detail.value = detail;
    const key = ({ counters, status, decidedApprovals }: RunDetail): string =>
      JSON.stringify([counters.turns, counters.toolCalls, status, decidedApprovals.length]);
    if (before === null || key(before) !== key(detail)) this.version.value += 1;
  }
}
