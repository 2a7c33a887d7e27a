/**
 * Contends for a lease: looks, takes, renews and gives back, one operation at a time, and tells when this scheduler
 * becomes active and when it must stand by. Failures are retried for ever; they never make it active. What the
 * rules are is `lease-rules.ts`, and what active means is its owner's matter.
 */
import type { Logger } from 'pino';
import { createLeaseClock, type Instant } from './lease-clock.ts';
import {
  createContender,
  hasten,
  holderOf,
  isActive,
  nextMove,
  noteFailed,
  noteRead,
  noteWritten,
  standBy,
  type Contender,
  type Move,
} from './lease-rules.ts';
import type { LeaseRecord, LeaseStore } from './lease-store.ts';
import { leaseTimes, type LeaseTimes } from './lease-times.ts';

export interface LeaseKeeperDeps {
  readonly store: LeaseStore;
  readonly identity: string;
  readonly logger: Logger;
  /** @param linkedProxies how many had linked with the one before; null: nobody told. */
  readonly onActive: (linkedProxies: number | null) => void;
  /** Called once for each `onActive`, unless it is closed: whatever is not done now must not be done. */
  readonly onStandby: () => void;
  /** Proxies that are linked now. */
  readonly linkedProxies: () => number;
  /** Absent: the true one. */
  readonly clock?: () => Instant;
  readonly times?: LeaseTimes | undefined;
}

export interface LeaseStanding {
  readonly role: 'active' | 'standby';
  readonly holder: string | null;
  readonly at: string;
  readonly fault: string | null;
}

/** In which the proxies of the one before have come, or are away. */
const relinkMs = 3_000;

export class LeaseKeeper {
  readonly #deps: LeaseKeeperDeps;
  readonly #contender: Contender;
  readonly #clock: () => Instant;
  readonly #times: LeaseTimes;
  #told = false;
  #fault: string | null = null;
  #closed = false;
  #deadline: NodeJS.Timeout | undefined;
  #wake: (() => void) | null = null;
  /** An operation that has not come out, also when nobody waits for it any more. */
  #underWay: Promise<unknown> | null = null;
  #done: Promise<void> = Promise.resolve();
  #faults = 0;
  #inherited = { proxies: 0, untilMs: 0 };

  constructor(deps: LeaseKeeperDeps) {
    this.#deps = deps;
    this.#times = deps.times ?? leaseTimes;
    this.#clock = deps.clock ?? createLeaseClock();
    this.#contender = createContender(deps.identity, this.#times);
  }

  start(): void {
    this.#done = this.#run();
  }

  /** Whether this scheduler may act at this moment; ask right before every act. */
  get active(): boolean {
    return !this.#closed && isActive(this.#contender, this.#clock());
  }

  /** Failed reads and writes so far. */
  get faults(): number {
    return this.#faults;
  }

  standing(): LeaseStanding {
    const { at } = this.#deps.store;
    const role = this.active ? 'active' : 'standby';
    return { role, holder: holderOf(this.#contender), at, fault: this.#fault };
  }

  /** The number of linked proxies has changed. */
  linksChanged(): void {
    if (!this.active) return;
    hasten(this.#contender, this.#clock());
    this.#wake?.();
  }

  /** Has its owner told at once that the time is over, if it is. */
  check(): void {
    if (this.#told && !this.#closed && !isActive(this.#contender, this.#clock())) this.#stepDown();
  }

  /**
   * Ends it. Call when nothing is done as the active one any more: then the lease is given back, so that another
   * takes it at once. @param linkedProxies how many were linked before that.
   */
  async close(linkedProxies: number): Promise<void> {
    const wasActive = this.active;
    this.#closed = true;
    clearTimeout(this.#deadline);
    this.#wake?.();
    await this.#done;
    const { seen, activeUntilMs } = this.#contender;
    if (wasActive && activeUntilMs !== null && seen !== null) {
      await this.#giveBack(seen.version, linkedProxies);
    }
    standBy(this.#contender);
    await this.#deps.store.close();
  }

  async #giveBack(version: string | null, linkedProxies: number): Promise<void> {
    const record: LeaseRecord = { holder: null, durationMs: this.#times.durationMs, linkedProxies };
    try {
      await this.#bounded(async () => await this.#deps.store.write(record, version));
      this.#deps.logger.info({ lease: this.#deps.store.at }, 'the lease is given back');
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'the lease could not be given back; it lapses by itself');
    }
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      const move = nextMove(this.#contender, this.#clock());
      this.check();
      if (move.kind === 'wait') await this.#wait(move.forMs);
      else if (move.kind === 'read') await this.#read();
      else await this.#write(move);
    }
  }

  async #read(): Promise<void> {
    try {
      const entry = await this.#bounded(async () => await this.#deps.store.read());
      noteRead(this.#contender, entry, this.#clock());
      this.#noteWorks();
      this.check();
    } catch (error) {
      this.#noteFault(error, 'read');
    }
  }

  async #write({ holder, version }: Extract<Move, { kind: 'write' }>): Promise<void> {
    const { store } = this.#deps;
    const before = this.#contender.lastSeen?.record ?? null;
    const started = this.#clock();
    const linkedProxies = this.#told ? this.#linkedProxies(started) : (before?.linkedProxies ?? null);
    const record: LeaseRecord = { holder, durationMs: this.#times.durationMs, linkedProxies };
    try {
      const entry = await this.#bounded(async () => await store.write(record, version));
      const active = noteWritten(this.#contender, entry, { started, now: this.#clock() });
      this.#noteWorks();
      if (entry !== null && active && !this.#closed) this.#hold(before);
      else this.check();
    } catch (error) {
      this.#noteFault(error, 'written');
    }
  }

  /** Those that were linked with the one before count for as long as it takes them to come. */
  #linkedProxies({ slowMs }: Instant): number {
    const inherited = slowMs < this.#inherited.untilMs ? this.#inherited.proxies : 0;
    return Math.max(inherited, this.#deps.linkedProxies());
  }

  #hold(before: LeaseRecord | null): void {
    clearTimeout(this.#deadline);
    const untilMs = this.#contender.activeUntilMs ?? 0;
    this.#deadline = setTimeout(() => this.check(), Math.max(0, untilMs - this.#clock().fastMs) + 1);
    if (this.#told) return;
    this.#told = true;
    const proxies = before?.linkedProxies ?? null;
    this.#inherited = { proxies: proxies ?? 0, untilMs: this.#clock().slowMs + relinkMs };
    const { store, identity, logger, onActive } = this.#deps;
    logger.info(
      { lease: store.at, identity, before: before?.holder ?? null },
      'this scheduler is active now',
    );
    onActive(proxies);
  }

  #stepDown(): void {
    this.#told = false;
    clearTimeout(this.#deadline);
    standBy(this.#contender);
    const { store, logger, onStandby } = this.#deps;
    const words = 'this scheduler is active no more: its lease was not renewed in time, or another has it';
    logger.error({ lease: store.at, fault: this.#fault, holder: holderOf(this.#contender) }, words);
    onStandby();
  }

  /** While an operation from before has not come out none is begun: one at a time is out, and none piles up. */
  async #bounded<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#underWay !== null) throw new Error('the operation before has not come out yet');
    const running = operation();
    const settled = running.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay = settled;
    void settled.then(() => {
      this.#underWay = null;
    });
    const { answerWithinMs } = this.#times;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs);
    });
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #noteFault(error: unknown, verb: 'read' | 'written'): void {
    noteFailed(this.#contender, this.#clock());
    this.#faults += 1;
    const words = error instanceof Error ? error.message : String(error);
    // Told once for as long as it lasts.
    if (this.#fault === null) {
      this.#deps.logger.warn({ lease: this.#deps.store.at, fault: words }, `the lease cannot be ${verb}`);
    }
    this.#fault = words;
    this.check();
  }

  #noteWorks(): void {
    if (this.#fault !== null) this.#deps.logger.info({ lease: this.#deps.store.at }, 'the lease works again');
    this.#fault = null;
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      // A timer may come a little early.
      const timer = setTimeout(done, Math.ceil(ms) + 1);
      this.#wake = done;
      if (this.#closed) done();
    });
  }
}
