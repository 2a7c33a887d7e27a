/**
 * The scheduler's side of `/link`: one WebSocket for each proxy, every message parsed by the schema of the
 * contract; a proxy in this process hands its messages over as they are. A proxy says `resync` first and is answered with the pool; then its reports become events and
 * the core's effects become messages. Decides nothing about turns.
 *
 * Bounds: links in number, a message in size, what waits to be sent, the time without a pong. A link that
 * breaks one is closed; its proxy then counts as lost until it resyncs.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { describeFaults } from '../../contracts/config-file.ts';
import type { ProxyId } from '../../contracts/ids.ts';
import {
  proxyMessageSchema,
  type LocalLink,
  type LocalLinkEvents,
  type ProxyMessage,
  type SchedulerMessage,
} from '../../contracts/link-protocol.ts';
import type { Submission } from './event-loop.ts';
import { LocalPeer, WebSocketPeer, type LinkPeer } from './link-peer.ts';

const maxLinks = 256;
const maxMessageBytes = 256 * 1024 * 1024;
const maxUnsentBytes = 64 * 1024 * 1024;
const defaultPingEveryMs = 5_000;
/** Pings in a row without an answer after which the link is dead. */
const maxUnansweredPings = 2;

/** WebSocket close codes of a proxy that stops: normal, going away, none given. */
const orderlyCloses: readonly number[] = [1000, 1001, 1005];

/** WebSocket close codes: 1008 for what the protocol forbids, 1013 for too many links. */
const protocolFault = 1008;
const tryLater = 1013;
/** What fits into a close frame beside its code. */
const maxReasonBytes = 123;

export interface LinkDeps {
  readonly logger: Logger;
  readonly submit: (event: Submission) => void;
  readonly poolMessage: () => SchedulerMessage;
  /** The number of linked proxies has changed. */
  readonly onLinked?: () => void;
  /** Milliseconds from one ping to the next; absent: 5,000. */
  readonly pingEveryMs?: number;
}

interface Link {
  readonly peer: LinkPeer;
  /** null: it has not said its resync yet. */
  proxy: ProxyId | null;
  unansweredPings: number;
}

export class LinkServer {
  readonly #deps: LinkDeps;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  });
  readonly #links = new Set<Link>();
  readonly #byProxy = new Map<ProxyId, Link>();
  readonly #pings: NodeJS.Timeout;
  #closed = false;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
    this.#pings = setInterval(() => this.#ping(), deps.pingEveryMs ?? defaultPingEveryMs);
  }

  /** Links a proxy in this process; null: there are too many links, or this scheduler stops. */
  openLocal(events: LocalLinkEvents): LocalLink | null {
    if (this.#closed || this.#links.size >= maxLinks) return null;
    const peer = new LocalPeer(events);
    const link: Link = { peer, proxy: null, unansweredPings: 0 };
    this.#links.add(link);
    return {
      send: (message) => this.#take(link, message),
      close: () => {
        if (peer.leave()) this.#drop(link, true);
      },
    };
  }

  /** Takes over the upgrade request of a proxy. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (open) => this.#accept(open, socket));
  }

  /** Sends to the proxy that has the turn; one that is not connected will say what it has on its resync. */
  send(proxy: ProxyId, message: SchedulerMessage): void {
    const link = this.#byProxy.get(proxy);
    if (link !== undefined) this.#transmit(link, message);
  }

  /** Sends to every proxy that has resynced. */
  broadcast(message: SchedulerMessage): void {
    for (const link of this.#byProxy.values()) this.#transmit(link, message);
  }

  /** Proxies that have resynced and are linked. */
  get linked(): number {
    return this.#byProxy.size;
  }

  /** Ends every link, of which the core hears nothing; the proxies hold their turns and look for a scheduler. */
  endAll(): void {
    const open = [...this.#links];
    this.#links.clear();
    this.#byProxy.clear();
    for (const link of open) link.peer.terminate();
  }

  /** As {@link endAll}, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#pings);
    this.endAll();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(socket: WebSocket, stream: Duplex): void {
    if (this.#links.size >= maxLinks) {
      socket.close(tryLater, `more than ${maxLinks} proxies are linked`);
      return;
    }
    const link: Link = { peer: new WebSocketPeer(socket, stream), proxy: null, unansweredPings: 0 };
    this.#links.add(link);
    socket.on('message', (data, isBinary) => this.#receive(link, data, isBinary));
    socket.on('pong', () => {
      link.unansweredPings = 0;
    });
    socket.on('error', (error) => this.#deps.logger.warn({ err: error, proxy: link.proxy }, 'link fault'));
    socket.on('close', (code) => this.#drop(link, orderlyCloses.includes(code)));
  }

  #receive(link: Link, data: RawData, isBinary: boolean): void {
    if (!this.#links.has(link)) return;
    const message = isBinary ? 'a binary message' : parseMessage(textOf(data));
    if (typeof message === 'string') {
      this.#refuse(link, message);
      return;
    }
    this.#take(link, message);
  }

  #take(link: Link, message: ProxyMessage): void {
    if (!this.#links.has(link)) return;
    link.unansweredPings = 0;
    if (message.type === 'resync') this.#resync(link, message);
    else if (link.proxy === null) this.#refuse(link, `${message.type} came before resync`);
    else this.#deps.submit({ ...message, proxy: link.proxy });
  }

  #resync(link: Link, message: Extract<ProxyMessage, { type: 'resync' }>): void {
    const { proxy, runs, held, inFlight } = message;
    if (link.proxy !== null && link.proxy !== proxy) {
      this.#refuse(link, 'a second resync names another proxy');
      return;
    }
    const before = this.#byProxy.get(proxy);
    link.proxy = proxy;
    this.#byProxy.set(proxy, link);
    // The proxy has a new connection before the old one was seen to be dead: it was never lost.
    if (before !== undefined && before !== link) this.#end(before);
    const counts = { runs: runs.length, held: held.length, inFlight: inFlight.length };
    this.#deps.logger.info({ proxy, ...counts }, 'proxy resynced');
    this.#transmit(link, this.#deps.poolMessage());
    this.#deps.onLinked?.();
    this.#deps.submit({ type: 'proxyResynced', proxy, runs, held, inFlight });
  }

  #refuse(link: Link, reason: string): void {
    this.#deps.logger.warn({ proxy: link.proxy }, `link closed: ${reason}`);
    this.#drop(link);
    link.peer.close(protocolFault, cutToBytes(reason, maxReasonBytes));
  }

  #end(link: Link): void {
    link.peer.terminate();
    this.#drop(link);
  }

  #drop(link: Link, orderly = false): void {
    if (!this.#links.delete(link) || link.proxy === null || this.#byProxy.get(link.proxy) !== link) return;
    this.#byProxy.delete(link.proxy);
    if (orderly) this.#deps.logger.info({ proxy: link.proxy }, 'proxy left');
    else this.#deps.logger.warn({ proxy: link.proxy }, 'proxy lost');
    this.#deps.onLinked?.();
    this.#deps.submit({ type: 'proxyLost', proxy: link.proxy });
  }

  #transmit(link: Link, message: SchedulerMessage): void {
    if (link.peer.unsentBytes > maxUnsentBytes) {
      this.#deps.logger.warn({ proxy: link.proxy }, `link closed: ${maxUnsentBytes} bytes wait to be sent`);
      this.#end(link);
      return;
    }
    link.peer.send(message);
  }

  #ping(): void {
    for (const link of this.#links) {
      if (link.peer.ping === null) continue;
      if (link.unansweredPings >= maxUnansweredPings) {
        this.#deps.logger.warn({ proxy: link.proxy }, 'link closed: no answer to pings');
        this.#end(link);
        continue;
      }
      link.unansweredPings += 1;
      link.peer.ping();
    }
  }
}

/** The message, or in words what is wrong with it. */
function parseMessage(text: string): ProxyMessage | string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return 'a message that is not JSON';
  }
  const parsed = proxyMessageSchema.safeParse(json);
  return parsed.success ? parsed.data : `a message with a fault: ${describeFaults(parsed.error)[0] ?? ''}`;
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}

/** The longest beginning of `text` that fits, without half a character at its end. */
function cutToBytes(text: string, maxBytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true });
}
