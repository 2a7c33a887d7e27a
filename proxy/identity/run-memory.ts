/**
 * Remembers which run a conversation, a tool call of it or a stored response belongs to, so that a client
 * that names no run is recognised by what it sends back. Pure: time is handed in.
 *
 * Never guesses: engines reuse short ids such as `call_0`, and many agents begin with the same words,
 * so an id counts only together with the conversation it came from, and what two runs share names
 * neither of them. Keys hold the caller, so two callers never meet. Bounded in number and age, and of each
 * run in number: a client sends its whole conversation again, so the newest beginnings name the run, also
 * when it goes back some turns and asks anew.
 */
import { createHash } from 'node:crypto';
import type { Caller, ReplicaId, RunId } from '../../contracts/ids.ts';
import type { Conversation } from './conversation.ts';

interface Entry {
  /** null: more than one run has had it. */
  readonly run: RunId | null;
  /** Where the reply came from; null: more than one replica, or it does not matter. */
  readonly replica: ReplicaId | null;
  readonly expiresAtMs: number;
}

export type RecognisedBy = 'response' | 'tool-call' | 'conversation';

/** What a reply is known by when a request sends it back. */
export interface ReplyNames {
  readonly toolCallIds: Iterable<string>;
  /** null: the API names none. */
  readonly responseId: string | null;
}

/** Conversations and tool calls kept of one run, beside those of its newest reply; the oldest go first. */
const maxKeysOfRun = 32;
/** No hash of a conversation begins with it. */
const responseMark = 'response ';
/** Longer ids are kept as their hash. */
const maxIdLength = 128;

export class RunMemory {
  // Insertion order is order of expiry, because each renewal inserts anew with the same lifetime.
  readonly #entries = new Map<string, Entry>();
  readonly #keysByRun = new Map<RunId, Set<string>>();
  /** Apart: they are not bounded by run, for their replica must be found as long as they may be gone on from. */
  readonly #responsesByRun = new Map<RunId, Set<string>>();
  readonly #maxEntries: number;
  readonly #lifetimeMs: number;

  constructor(options: { maxEntries: number; lifetimeMs: number }) {
    this.#maxEntries = options.maxEntries;
    this.#lifetimeMs = options.lifetimeMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The one run that this conversation continues; null when there is none or more than one. */
  find(caller: Caller, conversation: Conversation, nowMs: number): { run: RunId; by: RecognisedBy } | null {
    if (conversation.previousResponse !== null) {
      const entry = this.#live(responseKey(caller, conversation.previousResponse), nowMs);
      if (entry !== undefined) return entry.run === null ? null : { run: entry.run, by: 'response' };
    }
    const run = this.#findByToolCalls(caller, conversation, nowMs);
    if (run !== null) return { run, by: 'tool-call' };
    for (const hash of conversation.answered) {
      const entry = this.#live(conversationKey(caller, hash), nowMs);
      if (entry === undefined) continue;
      // The longest known beginning decides; a shorter one would be a guess.
      return entry.run === null ? null : { run: entry.run, by: 'conversation' };
    }
    return null;
  }

  /** The one replica that emitted a response, and stores it if any does; null: not known. */
  keeperOf(caller: Caller, responseId: string, nowMs: number): ReplicaId | null {
    return this.#live(responseKey(caller, responseId), nowMs)?.replica ?? null;
  }

  /** Notes that `run` was answered on `whole` with such a reply, by this replica. */
  remember(
    caller: Caller,
    whole: string,
    reply: ReplyNames,
    run: RunId,
    nowMs: number,
    replica: ReplicaId | null = null,
  ): void {
    this.#note(conversationKey(caller, whole), run, nowMs);
    let noted = 1;
    for (const id of reply.toolCallIds) {
      this.#note(toolCallKey(caller, whole, id), run, nowMs);
      noted += 1;
    }
    this.#forgetOldest(run, Math.max(maxKeysOfRun, noted));
    if (reply.responseId !== null) this.#note(responseKey(caller, reply.responseId), run, nowMs, replica);
  }

  /** Forgets all of a run, which has ended. */
  forget(run: RunId): void {
    for (const index of [this.#keysByRun, this.#responsesByRun]) {
      for (const key of index.get(run) ?? []) this.#remove(key);
    }
  }

  /** Drops what has expired. */
  sweep(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (entry.expiresAtMs > nowMs) return;
      this.#remove(key);
    }
  }

  #findByToolCalls(caller: Caller, conversation: Conversation, nowMs: number): RunId | null {
    if (conversation.toolResults === null) return null;
    const { before, ids } = conversation.toolResults;
    const runs = new Set<RunId>();
    for (const id of ids) {
      const entry = this.#live(toolCallKey(caller, before, id), nowMs);
      if (entry !== undefined && entry.run !== null) runs.add(entry.run);
    }
    const [run] = runs;
    return runs.size === 1 && run !== undefined ? run : null;
  }

  #live(key: string, nowMs: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAtMs > nowMs ? entry : undefined;
  }

  #note(key: string, run: RunId, nowMs: number, replica: ReplicaId | null = null): void {
    const known = this.#live(key, nowMs);
    this.#remove(key);
    const shared = known !== undefined && known.run !== run;
    this.#entries.set(key, {
      run: shared ? null : run,
      replica: known === undefined || known.replica === replica ? replica : null,
      expiresAtMs: nowMs + this.#lifetimeMs,
    });
    if (!shared) this.#index(key, run);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxEntries && oldest !== undefined) this.#remove(oldest);
  }

  #forgetOldest(run: RunId, limit: number): void {
    const keys = this.#keysByRun.get(run);
    if (keys === undefined) return;
    for (const key of keys) {
      if (keys.size <= limit) return;
      this.#remove(key);
    }
  }

  #indexOf(key: string): Map<RunId, Set<string>> {
    return key.startsWith(responseMark) ? this.#responsesByRun : this.#keysByRun;
  }

  #index(key: string, run: RunId): void {
    const index = this.#indexOf(key);
    const keys = index.get(run);
    if (keys === undefined) index.set(run, new Set([key]));
    else keys.add(key);
  }

  #remove(key: string): void {
    const run = this.#entries.get(key)?.run ?? null;
    this.#entries.delete(key);
    if (run === null) return;
    const index = this.#indexOf(key);
    const keys = index.get(run);
    keys?.delete(key);
    if (keys?.size === 0) index.delete(run);
  }
}

function conversationKey(caller: Caller, hash: string): string {
  return `${hash} ${caller}`;
}

function toolCallKey(caller: Caller, before: string, id: string): string {
  return `${before} ${caller} ${JSON.stringify(shortened(id))}`;
}

function responseKey(caller: Caller, id: string): string {
  return `${responseMark}${caller} ${JSON.stringify(shortened(id))}`;
}

function shortened(id: string): string {
  return id.length <= maxIdLength ? id : createHash('sha256').update(id).digest('base64url');
}
