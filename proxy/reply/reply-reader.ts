/** How the copy of a reply is read: what every reader of an API's stream or body offers. */
import type { ReplyFacts } from './reply-facts.ts';

/** Never throws and never delays: it is handed bytes that are already on their way to the client. */
export interface ReplyReader {
  feed(bytes: Uint8Array): void;
  /** The reply has ended; nothing is fed after it. */
  end(): void;
  facts(): ReplyFacts;
}

export interface StreamReader extends ReplyReader {
  /** Whether the last whole event held nothing but usage; null when none was read since the last call. */
  takeLastEvent(): 'usage-only' | 'other' | null;
}
