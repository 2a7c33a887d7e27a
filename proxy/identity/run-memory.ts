/**
 * Remembers which run a conversation, a tool call of it or a stored response belongs to, so that a client
 * that names no run is recognised by what it sends back. Pure: time is handed in.
 *
 * Never guesses: engines reuse short ids such as `call_0`, and many agents begin with the same words,
 * so an id counts only together with the conversation it came from, and what two runs share names
 * neither of them. Each caller has keys of its own, so two callers never meet. Bounded in number and age.
 */
import { hash } from 'node:crypto';
import type { Caller, ReplicaId, RunId } from '../../contracts/ids.ts';
import type { Conversation } from './conversation.ts';
import { ResponseMemory } from './response-memory.ts';
import { RunKeys } from './run-keys.ts';

export type RecognisedBy = 'response' | 'tool-call' | 'conversation';

/** What a reply is known by when a request sends it back. */
export interface ReplyNames {
  readonly toolCallIds: Iterable<string>;
  /** null: the API names none. */
  readonly responseId: string | null;
}

export class RunMemory {
  readonly #keys: RunKeys;
  /** Apart: they are not bounded by run, for their replica must be found as long as they may be gone on from. */
  readonly #responses: ResponseMemory;

  /** @param options.maxEntries keys, and as many stored responses. */
  constructor(options: { maxEntries: number; lifetimeMs: number }) {
    this.#keys = new RunKeys(options);
    this.#responses = new ResponseMemory(options);
  }

  get size(): number {
    return this.#keys.size + this.#responses.size;
  }

  /** The one run that this conversation continues; null when there is none or more than one. */
  find(caller: Caller, conversation: Conversation, nowMs: number): { run: RunId; by: RecognisedBy } | null {
    if (conversation.previousResponse !== null) {
      const response = this.#responses.find(caller, conversation.previousResponse, nowMs);
      if (response !== null) return response.run === null ? null : { run: response.run, by: 'response' };
    }
    const run = this.#findByToolCalls(caller, conversation, nowMs);
    if (run !== null) return { run, by: 'tool-call' };
    for (const beginning of conversation.answered) {
      const holder = this.#keys.find(caller, beginning, nowMs);
      if (holder === null) continue;
      // The longest known beginning decides; a shorter one would be a guess.
      return holder.run === null ? null : { run: holder.run, by: 'conversation' };
    }
    return null;
  }

  /** The one replica that emitted a response, and stores it if any does; null: not known. */
  keeperOf(caller: Caller, responseId: string, nowMs: number): ReplicaId | null {
    return this.#responses.find(caller, responseId, nowMs)?.replica ?? null;
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
    const keys = [whole];
    for (const id of reply.toolCallIds) keys.push(toolCallKey(whole, id));
    this.#keys.note(caller, run, keys, nowMs);
    if (reply.responseId !== null) this.#responses.note(caller, reply.responseId, run, replica, nowMs);
  }

  /** Forgets all of a run, which has ended. */
  forget(run: RunId): void {
    this.#keys.forget(run);
    this.#responses.forget(run);
  }

  /** Drops what has expired. */
  sweep(nowMs: number): void {
    this.#keys.sweep(nowMs);
    this.#responses.sweep(nowMs);
  }

  #findByToolCalls(caller: Caller, conversation: Conversation, nowMs: number): RunId | null {
    if (conversation.toolResults === null) return null;
    const { before, ids } = conversation.toolResults;
    const runs = new Set<RunId>();
    for (const id of ids) {
      const run = this.#keys.find(caller, toolCallKey(before, id), nowMs)?.run ?? null;
      if (run !== null) runs.add(run);
    }
    const [run] = runs;
    return runs.size === 1 && run !== undefined ? run : null;
  }
}

/** No conversation has the same: what its hash is taken of begins with a hash, a response or nothing. */
function toolCallKey(before: string, id: string): string {
  return hash('sha256', `call\n${before}\n${id}`, 'base64url');
}
