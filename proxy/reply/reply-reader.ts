/** How the copy of a reply is read: what every reader offers, and what an API must say to have its own. */
import type { Json } from '../foreign-json.ts';
import type { FactCollector, ReplyFacts } from './reply-facts.ts';

/** Never throws and never delays: it is handed bytes that are already on their way to the client. */
export interface ReplyReader {
  feed(bytes: Uint8Array): void;
  /** The reply has ended; nothing is fed after it. */
  end(): void;
  /** A finish reason or a closing mark has been read. Asked once a chunk, so cheaper than {@link facts}. */
  readonly finishing: boolean;
  facts(): ReplyFacts;
}

/** What an event was: nothing but the usage that one can ask for, or anything else. */
export type EventKind = 'usage-only' | 'other';

export interface StreamReader extends ReplyReader {
  /** What the last whole event was; null when none was read since the last call. */
  takeLastEvent(): EventKind | null;
}

/** How an API writes its replies. Foreign input: whatever does not fit is passed over. */
export interface ReplyDialect {
  /** @param type the event's name; empty when it has none. */
  readEvent(event: Json, type: string, collector: FactCollector): EventKind;
  readBody(body: Json, collector: FactCollector): void;
}
