/**
 * Conversations that `previous_response_id` goes on from, by the id of the response that ended them.
 * Bounded: the oldest is forgotten first, and going on from it is an error as it is at an engine.
 */
import type { SimMessage } from '../core/conversation.ts';

export interface ResponseStore {
  /** null: unknown or forgotten. */
  find(id: string): readonly SimMessage[] | null;
  keep(id: string, messages: readonly SimMessage[]): void;
}

export function createResponseStore(maxResponses: number): ResponseStore {
  const kept = new Map<string, readonly SimMessage[]>();
  return {
    find: (id) => kept.get(id) ?? null,
    keep(id, messages) {
      kept.set(id, messages);
      const [oldest] = kept.keys();
      if (kept.size > maxResponses && oldest !== undefined) kept.delete(oldest);
    },
  };
}
