/**
 * What happens to runs and to the pool, told to all who listen, by one look a second for all of them
 * together; without a listener nobody looks. The latest changes are kept, so that who was away for a
 * moment can be told what it missed. Nothing is kept for a single listener.
 */
import { randomBytes } from 'node:crypto';
import type { SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { maySee, type Asker } from './asker.ts';
import { cutMiddle } from './fair-cut.ts';
import { RunChanges, type RunChange } from './run-changes.ts';
import type { RunView } from './run-view.ts';
import { UserFault } from './user-fault.ts';

export interface FeedEvent {
  /** Of the feed and its place in it; who has seen it asks for what comes after it. */
  readonly id: string;
  /** ISO 8601: when it was noticed. */
  readonly at: string;
  readonly change: RunChange;
}

/** `fault`: why the pool is not known now. */
export type PoolNews =
  | { readonly status: SchedulerStatus; readonly fault: null }
  | { readonly status: null; readonly fault: string };

export interface FeedListener {
  readonly asker: Pick<Asker, 'caller' | 'seesAll'>;
  /** First of all, once. */
  onReady(start: FeedStart): void;
  onChange(event: FeedEvent): void;
  /** At the start, and when it is another than before. */
  onPool(news: PoolNews): void;
  /** Temporal cannot be asked any more, in words; null: it can again, and what was missed has been told. */
  onTrouble(words: string | null): void;
}

export interface FeedStart {
  /** The latest change: what has been told up to it, or can be read from the lists. */
  readonly id: string;
  /** Changes since the one that the listener had seen last cannot be told any more: it must read the lists. */
  readonly missed: boolean;
}

export interface RunFeedSources {
  /** Runs at work, and those that ended since `endedSinceMs`, newest first. */
  look(endedSinceMs: number): Promise<readonly RunView[]>;
  pool(): Promise<SchedulerStatus>;
}

export interface RunFeedOptions {
  /** Milliseconds between two looks, at least. */
  readonly everyMs?: number | undefined;
  /** Milliseconds after the last listener has left for which the feed can be taken up again. */
  readonly keepMs?: number | undefined;
  readonly maxListeners?: number | undefined;
  /** Of one caller that may see only its own runs. */
  readonly maxListenersEach?: number | undefined;
  /** Changes that are kept. */
  readonly maxKept?: number | undefined;
}

const defaults = { everyMs: 1_000, keepMs: 60_000, maxListeners: 200, maxListenersEach: 20, maxKept: 1_000 };
/** Looks take at most this share of the time, however long one takes. */
const maxLookShare = 0.25;
/** A list may show an end as late as this. */
const listLagMs = 30_000;

export class RunFeed {
  readonly #sources: RunFeedSources;
  readonly #options: typeof defaults;
  readonly #listeners = new Set<FeedListener>();
  /** What has been noticed so far; null: nobody has listened lately. */
  #memory: Memory | null = null;
  #looking: Promise<void> | null = null;
  #next: NodeJS.Timeout | null = null;
  #forget: NodeJS.Timeout | null = null;
  #trouble: string | null = null;
  #pool: { readonly key: string; readonly news: PoolNews } | null = null;
  #joining = 0;
  #closed = false;

  constructor(sources: RunFeedSources, options: RunFeedOptions = {}) {
    this.#sources = sources;
    this.#options = {
      everyMs: options.everyMs ?? defaults.everyMs,
      keepMs: options.keepMs ?? defaults.keepMs,
      maxListeners: options.maxListeners ?? defaults.maxListeners,
      maxListenersEach: options.maxListenersEach ?? defaults.maxListenersEach,
      maxKept: options.maxKept ?? defaults.maxKept,
    };
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /**
   * From its return on the listener is told of every change that it may see, after those it missed.
   * @param after id of the last change that it has seen; null: none.
   * @returns what ends it.
   * @throws UserFault when there is no room, or when Temporal cannot be asked.
   */
  async join(listener: FeedListener, after: string | null): Promise<() => void> {
    this.#checkRoom(listener);
    this.#joining += 1;
    if (this.#forget !== null) clearTimeout(this.#forget);
    this.#forget = null;
    try {
      // Somebody listens already: what there is has been looked at within the last moments.
      if (this.#next === null || this.#trouble !== null) await this.#look();
      if (this.#trouble !== null) throw new UserFault('busy', this.#trouble);
      this.#checkRoom(listener);
      this.#begin(listener, after);
    } finally {
      this.#joining -= 1;
      this.#rest();
    }
    return () => {
      if (this.#listeners.delete(listener)) this.#rest();
    };
  }

  #begin(listener: FeedListener, after: string | null): void {
    if (this.#memory === null) throw new UserFault('busy', stoppingWords);
    const { id, missed, replay } = this.#memory.since(after);
    this.#listeners.add(listener);
    listener.onReady({ id, missed });
    for (const event of replay) tell(listener, event);
    if (this.#pool !== null) listener.onPool(this.#pool.news);
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#rest();
    if (this.#forget !== null) clearTimeout(this.#forget);
  }

  #checkRoom({ asker }: FeedListener): void {
    const { maxListeners, maxListenersEach } = this.#options;
    if (this.#closed) throw new UserFault('busy', stoppingWords);
    const own = [...this.#listeners].filter((other) => other.asker.caller === asker.caller).length;
    if (this.#listeners.size >= maxListeners || (!asker.seesAll && own >= maxListenersEach)) {
      const most = this.#listeners.size >= maxListeners ? maxListeners : maxListenersEach;
      throw new UserFault('busy', `${most} listen already, the most that may; close one, then try again`);
    }
  }

  /** Stops to look when nobody listens, and forgets after a while. */
  #rest(): void {
    if (this.#listeners.size + this.#joining > 0) return;
    if (this.#next !== null) clearTimeout(this.#next);
    this.#next = null;
    this.#pool = null;
    if (this.#forget !== null) clearTimeout(this.#forget);
    this.#forget = setTimeout(() => {
      this.#memory = null;
      this.#trouble = null;
    }, this.#options.keepMs);
    this.#forget.unref();
  }

  /** One look for all who want one at the same time, and the next one after it while somebody listens. */
  async #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    if (this.#next !== null) clearTimeout(this.#next);
    const beganMs = performance.now();
    await Promise.all([this.#lookAtRuns(), this.#lookAtPool()]);
    if (this.#closed || this.#listeners.size + this.#joining === 0) return;
    const tookMs = performance.now() - beganMs;
    const waitMs = Math.max(this.#options.everyMs - tookMs, tookMs * (1 / maxLookShare - 1), 50);
    this.#next = setTimeout(() => void this.#look(), waitMs);
    this.#next.unref();
  }

  async #lookAtRuns(): Promise<void> {
    const memory = this.#memory ?? new Memory(Date.now(), this.#options.maxKept);
    this.#memory = memory;
    const atMs = Date.now();
    const endedSinceMs = memory.lookedAtMs - listLagMs;
    try {
      const views = await this.#sources.look(endedSinceMs);
      for (const event of memory.take(views, atMs, endedSinceMs)) {
        for (const listener of this.#listeners) tell(listener, event);
      }
      if (this.#trouble !== null) this.#tellTrouble(null);
    } catch (error) {
      this.#tellTrouble(error instanceof Error ? error.message : String(error));
    }
  }

  #tellTrouble(words: string | null): void {
    if (words === this.#trouble) return;
    this.#trouble = words;
    for (const listener of this.#listeners) listener.onTrouble(words);
  }

  async #lookAtPool(): Promise<void> {
    const news = await this.#sources.pool().then(
      (status): PoolNews => ({ status, fault: null }),
      (error: unknown): PoolNews => ({
        status: null,
        fault: error instanceof Error ? error.message : String(error),
      }),
    );
    const key = keyOf(news);
    if (key === this.#pool?.key) return;
    this.#pool = { key, news };
    for (const listener of this.#listeners) listener.onPool(news);
  }
}

const stoppingWords = 'this server is stopping; listen again in a moment, at another one or at this one';

/** How long turns have been held, and what single runs do, changes all the time, and is no news. */
function keyOf({ status, fault }: PoolNews): string {
  if (status === null) return fault;
  const held = status.held.map(({ oldestMs: _oldestMs, ...rest }) => rest);
  return JSON.stringify({ ...status, held, runs: [] });
}

function tell(listener: FeedListener, event: FeedEvent): void {
  if (maySee(listener.asker, event.change.run.caller)) listener.onChange(event);
}

const keptArguments = 600;

/** Without what may be long and can be read elsewhere: a thousand of them are kept. */
function leanRun(run: RunView): RunView {
  const pendingApprovals = run.pendingApprovals.map((one) => ({
    ...one,
    arguments: cutMiddle(one.arguments, keptArguments),
  }));
  return { ...run, partial: null, result: null, decidedApprovals: [], pendingApprovals };
}

/** What the feed knows since its start, and the latest of what it told. */
class Memory {
  lookedAtMs: number;
  readonly #name = randomBytes(6).toString('hex');
  readonly #changes: RunChanges;
  readonly #maxKept: number;
  #kept: FeedEvent[] = [];
  #count = 0;

  constructor(nowMs: number, maxKept: number) {
    this.lookedAtMs = nowMs;
    this.#changes = new RunChanges(nowMs);
    this.#maxKept = maxKept;
  }

  take(views: readonly RunView[], atMs: number, endedSinceMs: number): FeedEvent[] {
    const at = new Date().toISOString();
    const events = this.#changes.take(views, atMs, endedSinceMs).map((change) => {
      this.#count += 1;
      return { id: this.#idOf(this.#count), at, change: { ...change, run: leanRun(change.run) } };
    });
    this.lookedAtMs = atMs;
    this.#kept = [...this.#kept, ...events].slice(-this.#maxKept);
    return events;
  }

  since(after: string | null): {
    readonly id: string;
    readonly missed: boolean;
    readonly replay: FeedEvent[];
  } {
    const id = this.#idOf(this.#count);
    if (after === null) return { id, missed: false, replay: [] };
    const [name, count = ''] = after.split('-');
    const seen = /^\d{1,15}$/.test(count) ? Number(count) : Number.NaN;
    const isKept = name === this.#name && seen <= this.#count && this.#count - seen <= this.#kept.length;
    return isKept
      ? { id, missed: false, replay: this.#kept.slice(this.#kept.length - (this.#count - seen)) }
      : { id, missed: true, replay: [] };
  }

  #idOf(count: number): string {
    return `${this.#name}-${count}`;
  }
}
