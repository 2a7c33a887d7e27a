/** What carries the messages of the link; what they mean, and what follows a loss, is not its matter. */
import type { ProxyMessage, SchedulerMessage } from '../../contracts/link-protocol.ts';

/** One connection: it opens at most once, and is lost exactly once unless it is closed. */
export interface LinkTransport {
  /** In order. Only while it is open. */
  send(message: ProxyMessage): void;
  /** As {@link send}, in order with it, but within some milliseconds: for what nobody waits for. */
  sendSoon(message: ProxyMessage): void;
  /** Ends it in order; resolves when it is closed. */
  close(): Promise<void>;
}

/** None is called before the transport has been returned. */
export interface LinkEvents {
  readonly opened: () => void;
  readonly received: (message: SchedulerMessage) => void;
  readonly lost: () => void;
  /** The scheduler answered with this HTTP status instead of a link; `lost` follows. */
  readonly answered: (status: number) => void;
}

export interface LinkCarrier {
  /** Address of the scheduler's link, for people. */
  readonly url: string;
  open(events: LinkEvents): LinkTransport;
}
