/**
 * Whether this scheduler is the one that decides. Without a lease it always is; with one it is while it holds it.
 * What follows from a change is its owner's matter.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { LeaseKeeper, type LeaseStanding } from './lease/lease-keeper.ts';
import type { LeaseStore } from './lease/lease-store.ts';
import type { LeaseTimes } from './lease/lease-times.ts';

export interface Office {
  /** Ask it right before every act. */
  readonly active: boolean;
  /** Has its owner told at once if it has ceased to be active. */
  check(): void;
  /** Why it decides nothing now, in words; null: it does. */
  awayBecause(): string | null;
  /** null: there is no lease. */
  readonly standing: (() => LeaseStanding) | null;
  readonly leaseFaults: number;
  linksChanged(): void;
  /** @param port by which it is told from others on this machine. */
  start(port: number): void;
  /** Ends it once nothing is done any more; the lease is given back. @param linkedProxies until then. */
  close(linkedProxies: number): Promise<void>;
}

export interface OfficeDeps {
  readonly logger: Logger;
  /** @param linkedProxies with the one before; null: it is not known. */
  readonly onActive: (linkedProxies: number | null) => void;
  readonly onStandby: () => void;
  readonly linkedProxies: () => number;
  /** Absent: the true ones. */
  readonly times?: LeaseTimes | undefined;
}

/** @param store null: there is one scheduler. */
export function createOffice(store: LeaseStore | null, deps: OfficeDeps): Office {
  return store === null ? soleOffice : new LeasedOffice(store, deps);
}

const soleOffice: Office = {
  active: true,
  check: () => {},
  awayBecause: () => null,
  standing: null,
  leaseFaults: 0,
  linksChanged: () => {},
  start: () => {},
  close: async () => {},
};

class LeasedOffice implements Office {
  readonly #store: LeaseStore;
  readonly #deps: OfficeDeps;
  #keeper: LeaseKeeper | null = null;
  #stopping = false;

  constructor(store: LeaseStore, deps: OfficeDeps) {
    this.#store = store;
    this.#deps = deps;
  }

  get active(): boolean {
    return this.#keeper?.active ?? false;
  }

  get leaseFaults(): number {
    return this.#keeper?.faults ?? 0;
  }

  readonly standing = (): LeaseStanding =>
    this.#keeper?.standing() ?? { role: 'standby', holder: null, at: this.#store.at, fault: null };

  check(): void {
    this.#keeper?.check();
  }

  awayBecause(): string | null {
    if (this.#stopping) return 'stopping';
    if (this.active) return null;
    const { holder, fault } = this.standing();
    const of = holder === null ? 'standby; nobody is known to be active' : `standby of ${holder}`;
    return fault === null ? of : `${of}; the lease does not answer: ${fault}`;
  }

  linksChanged(): void {
    this.#keeper?.linksChanged();
  }

  start(port: number): void {
    const identity = `${hostname()}:${port}_${randomBytes(4).toString('hex')}`;
    this.#keeper = new LeaseKeeper({ ...this.#deps, store: this.#store, identity });
    this.#keeper.start();
  }

  async close(linkedProxies: number): Promise<void> {
    this.#stopping = true;
    if (this.#keeper === null) await this.#store.close();
    else await this.#keeper.close(linkedProxies);
  }
}
