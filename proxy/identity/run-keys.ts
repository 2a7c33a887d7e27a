/**
 * Which run each key belongs to, and which keys belong to more than one. Made for a hundred thousand of them: a
 * key costs its text, its place in its caller's table and one in its run's list; everything else is kept once a
 * run, its age included. Pure: time is handed in.
 *
 * Bounded in number, of all and of each run: a client sends its whole conversation again, so the newest
 * beginnings name the run, also when it goes back some turns and asks anew. Above the bound the run that has been
 * silent longest loses its oldest keys.
 */
import type { Caller, RunId } from '../../contracts/ids.ts';

/** Whoever has keys: a run with all of its own, or `null` with one that more than one run has had. */
export interface KeyHolder {
  readonly run: RunId | null;
}

interface Holder extends KeyHolder {
  readonly caller: Caller;
  /** Oldest first. */
  keys: string[];
  expiresAtMs: number;
  /** Of the same run, where several callers may mean it: a list for each run would cost more than its keys. */
  next: Holder | null;
}

/** Keys kept of one run, beside those of its newest reply. */
const maxKeysOfRun = 32;

export class RunKeys {
  readonly #tables = new Map<Caller, Map<string, Holder>>();
  /** The first of each run's holders. */
  readonly #byRun = new Map<RunId, Holder>();
  /** In order of expiry, because each renewal inserts anew with the same lifetime. */
  readonly #holders = new Set<Holder>();
  readonly #maxKeys: number;
  readonly #lifetimeMs: number;
  #size = 0;

  constructor({ maxEntries, lifetimeMs }: { maxEntries: number; lifetimeMs: number }) {
    this.#maxKeys = maxEntries;
    this.#lifetimeMs = lifetimeMs;
  }

  get size(): number {
    return this.#size;
  }

  /** null: nobody has the key. */
  find(caller: Caller, key: string, nowMs: number): KeyHolder | null {
    const holder = this.#tables.get(caller)?.get(key);
    return holder !== undefined && holder.expiresAtMs > nowMs ? holder : null;
  }

  /** Notes the keys of one reply. What another run has had names neither from now on. */
  note(caller: Caller, run: RunId, keys: readonly string[], nowMs: number): void {
    const own = this.#holderOf(caller, run, nowMs);
    for (const key of keys) {
      const known = this.#tables.get(caller)?.get(key);
      if (known !== undefined) this.#take(known, key);
      const isShared = known !== undefined && known.run !== run && known.expiresAtMs > nowMs;
      const holder = isShared ? { run: null, caller, keys: [], expiresAtMs: 0, next: null } : own;
      this.#give(holder, key);
      if (isShared) this.#renew(holder, nowMs);
    }
    const limit = Math.max(maxKeysOfRun, keys.length);
    while (own.keys.length > limit) this.#takeOldest(own);
    if (own.keys.length > 0) this.#renew(own, nowMs);
    for (const silent of this.#holders) {
      while (this.#size > this.#maxKeys && silent.keys.length > 0) this.#takeOldest(silent);
      if (this.#size <= this.#maxKeys) return;
    }
  }

  forget(run: RunId): void {
    for (const holder of this.#holdersOf(run)) this.#drop(holder);
  }

  sweep(nowMs: number): void {
    for (const holder of this.#holders) {
      if (holder.expiresAtMs > nowMs) return;
      this.#drop(holder);
    }
  }

  /** The run's, or one that is kept once it has a key. */
  #holderOf(caller: Caller, run: RunId, nowMs: number): Holder {
    const known = this.#holdersOf(run).find((holder) => holder.caller === caller);
    // What has expired must not live again with what comes now.
    if (known !== undefined && known.expiresAtMs <= nowMs) this.#drop(known);
    return known ?? { run, caller, keys: [], expiresAtMs: 0, next: null };
  }

  #holdersOf(run: RunId): readonly Holder[] {
    const holders: Holder[] = [];
    for (let one = this.#byRun.get(run) ?? null; one !== null; one = one.next) holders.push(one);
    return holders;
  }

  #renew(holder: Holder, nowMs: number): void {
    holder.expiresAtMs = nowMs + this.#lifetimeMs;
    this.#holders.delete(holder);
    this.#holders.add(holder);
  }

  #give(holder: Holder, key: string): void {
    const table = this.#tables.get(holder.caller) ?? new Map<string, Holder>();
    if (table.size === 0) this.#tables.set(holder.caller, table);
    table.set(key, holder);
    this.#size += 1;
    if (holder.keys.length > 0) {
      holder.keys.push(key);
      return;
    }
    // A list that is pushed to when empty makes room for seventeen; most runs have one key.
    holder.keys = [key];
    if (holder.run === null) return;
    holder.next = this.#byRun.get(holder.run) ?? null;
    this.#byRun.set(holder.run, holder);
  }

  #take(holder: Holder, key: string): void {
    holder.keys.splice(holder.keys.indexOf(key), 1);
    const table = this.#tables.get(holder.caller);
    table?.delete(key);
    if (table?.size === 0) this.#tables.delete(holder.caller);
    this.#size -= 1;
    if (holder.keys.length === 0) this.#leave(holder);
  }

  #takeOldest(holder: Holder): void {
    const [oldest] = holder.keys;
    if (oldest !== undefined) this.#take(holder, oldest);
  }

  #drop(holder: Holder): void {
    while (holder.keys.length > 0) this.#takeOldest(holder);
  }

  /** It has no key any more. */
  #leave(holder: Holder): void {
    this.#holders.delete(holder);
    if (holder.run === null) return;
    const before = this.#holdersOf(holder.run).find((one) => one.next === holder);
    if (before !== undefined) before.next = holder.next;
    else if (holder.next === null) this.#byRun.delete(holder.run);
    else this.#byRun.set(holder.run, holder.next);
    holder.next = null;
  }
}
