/**
 * Which run a stored response belongs to, and which replica keeps it. Pure: time is handed in. Bounded in
 * number and age; the oldest goes first.
 */
import { hash } from 'node:crypto';
import type { Caller, ReplicaId, RunId } from '../../contracts/ids.ts';

export interface KnownResponse {
  /** null: more than one run has had it. */
  readonly run: RunId | null;
  /** Where it came from; null: more than one replica, or it does not matter. */
  readonly replica: ReplicaId | null;
}

interface Entry extends KnownResponse {
  readonly expiresAtMs: number;
}

export class ResponseMemory {
  // Insertion order is order of expiry, because each renewal inserts anew with the same lifetime.
  readonly #entries = new Map<string, Entry>();
  readonly #byRun = new Map<RunId, Set<string>>();
  readonly #maxEntries: number;
  readonly #lifetimeMs: number;

  constructor({ maxEntries, lifetimeMs }: { maxEntries: number; lifetimeMs: number }) {
    this.#maxEntries = maxEntries;
    this.#lifetimeMs = lifetimeMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(caller: Caller, id: string, nowMs: number): KnownResponse | null {
    return this.#live(keyOf(caller, id), nowMs);
  }

  note(caller: Caller, id: string, run: RunId, replica: ReplicaId | null, nowMs: number): void {
    const key = keyOf(caller, id);
    const known = this.#live(key, nowMs);
    this.#remove(key);
    const isShared = known !== null && known.run !== run;
    this.#entries.set(key, {
      run: isShared ? null : run,
      replica: known === null || known.replica === replica ? replica : null,
      expiresAtMs: nowMs + this.#lifetimeMs,
    });
    if (!isShared) this.#index(key, run);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxEntries && oldest !== undefined) this.#remove(oldest);
  }

  forget(run: RunId): void {
    for (const key of this.#byRun.get(run) ?? []) this.#remove(key);
  }

  sweep(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (entry.expiresAtMs > nowMs) return;
      this.#remove(key);
    }
  }

  #live(key: string, nowMs: number): Entry | null {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAtMs > nowMs ? entry : null;
  }

  #index(key: string, run: RunId): void {
    const keys = this.#byRun.get(run);
    if (keys === undefined) this.#byRun.set(run, new Set([key]));
    else keys.add(key);
  }

  #remove(key: string): void {
    const run = this.#entries.get(key)?.run ?? null;
    this.#entries.delete(key);
    if (run === null) return;
    const keys = this.#byRun.get(run);
    keys?.delete(key);
    if (keys?.size === 0) this.#byRun.delete(run);
  }
}

/** Engines choose ids, of any length and shape; a caller holds no line break but at its beginning. */
function keyOf(caller: Caller, id: string): string {
  return hash('sha256', JSON.stringify([caller, id]), 'base64url');
}
