/**
 * The link to a scheduler in another process: one WebSocket, JSON text, parsed by the schemas of the
 * contract. Messages that come up together leave in one write. A peer that answers no ping is lost.
 */
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocket, type RawData } from 'ws';
import {
  schedulerMessageSchema,
  type ProxyMessage,
  type SchedulerMessage,
} from '../../contracts/link-protocol.ts';
import type { LinkCarrier, LinkEvents, LinkTransport } from './link-transport.ts';

/** A scheduler that does not answer a close within this is left without it. */
const closeTimeoutMs = 1_000;
const maxMessageBytes = 16 * 1024 * 1024;
/** Longest that a message that can wait waits for one that cannot, to share its packet. */
const lingerMs = 5;

export interface WebSocketCarrierOptions {
  /** http or https address of the scheduler. */
  readonly schedulerUrl: string;
  /** What the services send to each other; null: nothing. */
  readonly token: string | null;
  /** Milliseconds from one ping to the next; the one before must have been answered by then. */
  readonly pingMs: number;
  /** Milliseconds within which the scheduler must have answered the request for a link. */
  readonly handshakeMs: number;
  readonly logger: Logger;
}

export function webSocketCarrier(options: WebSocketCarrierOptions): LinkCarrier {
  const url = `${options.schedulerUrl.replace(/^http/, 'ws').replace(/\/+$/, '')}/link`;
  return { url, open: (events) => new WebSocketLink(url, options, events) };
}

class WebSocketLink implements LinkTransport {
  readonly #socket: WebSocket;
  readonly #events: LinkEvents;
  readonly #logger: Logger;
  readonly #url: string;
  #stream: Duplex | null = null;
  #pings: NodeJS.Timeout | null = null;
  #pongSeen = true;
  #lingering: ProxyMessage[] = [];
  #lingerTimer: NodeJS.Timeout | null = null;
  #uncork: (() => void) | null = null;
  #wroteAtOnce = false;

  constructor(
    url: string,
    { token, pingMs, handshakeMs, logger }: WebSocketCarrierOptions,
    events: LinkEvents,
  ) {
    this.#url = url;
    this.#events = events;
    this.#logger = logger;
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: handshakeMs,
      maxPayload: maxMessageBytes,
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
    });
    this.#socket = socket;
    socket.on('upgrade', (response) => {
      this.#stream = response.socket;
    });
    socket.on('open', () => {
      this.#pings = setInterval(() => this.#ping(), pingMs);
      events.opened();
    });
    socket.on('message', (data) => this.#received(data));
    socket.on('pong', () => {
      this.#pongSeen = true;
    });
    socket.on('unexpected-response', (_request, response) => {
      events.answered(response.statusCode ?? 0);
      // With a listener, what follows is left to it.
      socket.terminate();
    });
    socket.on('error', (error) => logger.debug({ error: error.message }, 'link error'));
    socket.on('close', () => this.#closed());
  }

  send(message: ProxyMessage): void {
    this.#corkForThisTurnOfTheLoop();
    this.#flushLingering();
    this.#socket.send(JSON.stringify(message));
    if (message.type === 'turnArrived') this.#writeFirstAtOnce();
  }

  sendSoon(message: ProxyMessage): void {
    this.#lingering.push(message);
    this.#lingerTimer ??= setTimeout(() => {
      this.#corkForThisTurnOfTheLoop();
      this.#flushLingering();
    }, lingerMs);
  }

  async close(): Promise<void> {
    if (this.#socket.readyState === WebSocket.OPEN) this.#flushLingering();
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const giveUp = setTimeout(() => this.#socket.terminate(), closeTimeoutMs);
      this.#socket.once('close', () => {
        clearTimeout(giveUp);
        resolve();
      });
      this.#socket.close();
    });
  }

  #closed(): void {
    if (this.#pings !== null) clearInterval(this.#pings);
    this.#pings = null;
    if (this.#lingerTimer !== null) clearTimeout(this.#lingerTimer);
    this.#lingerTimer = null;
    this.#lingering = [];
    this.#stream = null;
    this.#events.lost();
  }

  #flushLingering(): void {
    if (this.#lingerTimer !== null) clearTimeout(this.#lingerTimer);
    this.#lingerTimer = null;
    for (const message of this.#lingering) this.#socket.send(JSON.stringify(message));
    this.#lingering = [];
  }

  /**
   * Messages of many turns that come up together leave in one write: a system call each is what a turn on
   * this link would cost most.
   */
  #corkForThisTurnOfTheLoop(): void {
    const stream = this.#stream;
    if (stream === null || this.#uncork !== null) return;
    stream.cork();
    this.#wroteAtOnce = false;
    this.#uncork = () => {
      this.#uncork = null;
      stream.uncork();
    };
    setImmediate(this.#uncork);
  }

  /** A client waits for this one. Where many come up together, the others can wait for each other. */
  #writeFirstAtOnce(): void {
    if (this.#wroteAtOnce || this.#uncork === null) return;
    this.#wroteAtOnce = true;
    this.#stream?.uncork();
    this.#stream?.cork();
  }

  #received(data: RawData): void {
    const message = parseMessage(data);
    if (message === null) {
      this.#logger.error({ url: this.#url }, 'the scheduler sent a message this proxy does not understand');
      this.#socket.terminate();
      return;
    }
    this.#events.received(message);
  }

  /** What has arrived while this process was busy is read first: an answer may be among it. */
  #ping(): void {
    setImmediate(() => {
      if (this.#pings === null) return;
      if (!this.#pongSeen) {
        this.#socket.terminate();
        return;
      }
      this.#pongSeen = false;
      this.#socket.ping();
    });
  }
}

function parseMessage(data: RawData): SchedulerMessage | null {
  try {
    const parsed = schedulerMessageSchema.safeParse(
      JSON.parse(Buffer.isBuffer(data) ? data.toString('utf8') : ''),
    );
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
