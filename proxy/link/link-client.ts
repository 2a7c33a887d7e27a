/**
 * The proxy's end of the link to the scheduler: one WebSocket, opened again whenever it is lost, first at
 * once and then every second. Each connection begins with a resync. It carries messages; what they mean is
 * decided by the turns, runs and pool that it is given.
 */
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocket, type RawData } from 'ws';
import type { ProxyId, RunId } from '../../contracts/ids.ts';
import {
  schedulerMessageSchema,
  type ProxyMessage,
  type SchedulerMessage,
} from '../../contracts/link-protocol.ts';
import type { ProxyLimits } from '../limits.ts';
import type { LiveTurns } from './live-turns.ts';
import type { ReplicaPool } from './replica-pool.ts';
import type { RunRegistry } from './run-registry.ts';

const retryEveryMs = 1_000;
const handshakeTimeoutMs = 2_000;
/** Ends of runs that are kept while the link is down; the oldest are dropped above. */
const maxPendingEnds = 10_000;
/** A connection that lasted less does not count as one: the next try waits. */
const settledAfterMs = 1_000;
const maxMessageBytes = 16 * 1024 * 1024;
/** Longest that a message that can wait waits for one that cannot, to share its packet. */
const lingerMs = 5;

export interface LinkParts {
  readonly turns: LiveTurns;
  readonly runs: RunRegistry;
  readonly pool: ReplicaPool;
  readonly logger: Logger;
  readonly nowMs: () => number;
  readonly limits: Pick<ProxyLimits, 'linkPingMs' | 'progressEveryMs'>;
}

export class LinkClient {
  readonly #url: string;
  readonly #proxy: ProxyId;
  readonly #headers: Readonly<Record<string, string>>;
  #refused = false;
  #parts: LinkParts | null = null;
  #socket: WebSocket | null = null;
  #open = false;
  #openedAtMs = 0;
  #closed = false;
  #retryTimer: NodeJS.Timeout | null = null;
  #timers: NodeJS.Timeout[] = [];
  #pongSeen = true;
  readonly #pendingEnds = new Set<RunId>();
  #lingering: ProxyMessage[] = [];
  #lingerTimer: NodeJS.Timeout | null = null;
  #uncork: (() => void) | null = null;
  #wroteAtOnce = false;
  #stream: Duplex | null = null;

  /**
   * @param schedulerUrl http or https address of the scheduler.
   * @param token what the services send to each other; null: nothing.
   */
  constructor(schedulerUrl: string, proxy: ProxyId, token: string | null = null) {
    this.#url = `${schedulerUrl.replace(/^http/, 'ws').replace(/\/+$/, '')}/link`;
    this.#proxy = proxy;
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` };
  }

  get url(): string {
    return this.#url;
  }

  get connected(): boolean {
    return this.#open;
  }

  start(parts: LinkParts): void {
    this.#parts = parts;
    this.#timers = [
      setInterval(() => this.#ping(), parts.limits.linkPingMs),
      setInterval(() => this.#reportProgress(), parts.limits.progressEveryMs),
    ];
    this.#connect();
  }

  /** Sends a message, or drops it while the link is down: the next resync tells the state instead. */
  send(message: ProxyMessage): void {
    if (!this.#open) return;
    this.#corkForThisTurnOfTheLoop();
    this.#flushLingering();
    this.#socket?.send(JSON.stringify(message));
    if (message.type === 'turnArrived') this.#writeFirstAtOnce();
  }

  /** As {@link send}, in order with it, but within {@link lingerMs}: for what nobody waits for. */
  sendSoon(message: ProxyMessage): void {
    if (!this.#open) return;
    this.#lingering.push(message);
    this.#lingerTimer ??= setTimeout(() => {
      this.#corkForThisTurnOfTheLoop();
      this.#flushLingering();
    }, lingerMs);
  }

  /** Tells that a run has ended; kept until the link is up. */
  endRun(run: RunId): void {
    if (this.#open) {
      this.send({ type: 'runEnded', run });
      return;
    }
    this.#pendingEnds.add(run);
    const [oldest] = this.#pendingEnds;
    if (this.#pendingEnds.size > maxPendingEnds && oldest !== undefined) this.#pendingEnds.delete(oldest);
  }

  /** Closes the link for good; resolves when the socket is closed. */
  async close(): Promise<void> {
    this.#flushLingering();
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const socket = this.#socket;
    if (socket === null || socket.readyState === WebSocket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const giveUp = setTimeout(() => socket.terminate(), settledAfterMs);
      socket.once('close', () => {
        clearTimeout(giveUp);
        resolve();
      });
      socket.close();
    });
  }

  #flushLingering(): void {
    if (this.#lingerTimer !== null) clearTimeout(this.#lingerTimer);
    this.#lingerTimer = null;
    for (const message of this.#lingering) this.#socket?.send(JSON.stringify(message));
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

  #connect(): void {
    this.#retryTimer = null;
    const socket = new WebSocket(this.#url, {
      perMessageDeflate: false,
      handshakeTimeout: handshakeTimeoutMs,
      maxPayload: maxMessageBytes,
      headers: this.#headers,
    });
    this.#socket = socket;
    socket.on('upgrade', (response) => {
      this.#stream = response.socket;
    });
    socket.on('open', () => this.#opened());
    socket.on('message', (data) => this.#received(socket, data));
    socket.on('pong', () => {
      this.#pongSeen = true;
    });
    socket.on('unexpected-response', (_request, response) => {
      this.#answered(response.statusCode ?? 0);
      // With a listener, what follows is left to it.
      socket.terminate();
    });
    socket.on('error', (error) => this.#parts?.logger.debug({ error: error.message }, 'link error'));
    socket.on('close', () => this.#lost());
  }

  #opened(): void {
    const parts = this.#parts;
    if (parts === null) return;
    this.#open = true;
    this.#refused = false;
    this.#openedAtMs = parts.nowMs();
    this.#pongSeen = true;
    const resync: ProxyMessage = {
      type: 'resync',
      proxy: this.#proxy,
      runs: parts.runs.resync(parts.nowMs()),
      ...parts.turns.resync(),
    };
    this.send(resync);
    for (const run of this.#pendingEnds) this.send({ type: 'runEnded', run });
    this.#pendingEnds.clear();
    parts.logger.info(
      {
        url: this.#url,
        runs: resync.runs.length,
        held: resync.held.length,
        inFlight: resync.inFlight.length,
      },
      'linked to the scheduler',
    );
  }

  /** The scheduler answered with something else than a link; told once for as long as it lasts. */
  #answered(status: number): void {
    if (this.#refused) return;
    this.#refused = status === 401 || status === 403;
    if (!this.#refused) return;
    this.#parts?.logger.error(
      { url: this.#url, status },
      "the scheduler refuses this proxy's token: FERMATA_TOKEN differs; set the same for proxy and scheduler",
    );
  }

  #lost(): void {
    const parts = this.#parts;
    const wasOpen = this.#open;
    this.#open = false;
    this.#socket = null;
    this.#stream = null;
    if (this.#lingerTimer !== null) clearTimeout(this.#lingerTimer);
    this.#lingerTimer = null;
    this.#lingering = [];
    if (this.#closed || parts === null) return;
    const settled = wasOpen && parts.nowMs() - this.#openedAtMs >= settledAfterMs;
    if (wasOpen)
      parts.logger.warn({ url: this.#url }, 'link to the scheduler lost; turns are held meanwhile');
    this.#retryTimer = setTimeout(() => this.#connect(), settled ? 0 : retryEveryMs);
  }

  #received(socket: WebSocket, data: RawData): void {
    const parts = this.#parts;
    if (parts === null || socket !== this.#socket) return;
    const message = parseMessage(data);
    if (message === null) {
      parts.logger.error({ url: this.#url }, 'the scheduler sent a message this proxy does not understand');
      socket.terminate();
      return;
    }
    switch (message.type) {
      case 'pool':
        parts.pool.update(message);
        return;
      case 'admit':
        parts.turns.admit(message.turn, message.replica, parts.pool.get(message.replica));
        return;
      case 'reject':
        parts.turns.reject(message.turn, message.code);
        return;
      case 'abort':
        parts.turns.abort(message.turn, 'run_ended');
        return;
      default:
        message satisfies never;
    }
  }

  #ping(): void {
    if (!this.#open || this.#socket === null) return;
    if (!this.#pongSeen) {
      this.#socket.terminate();
      return;
    }
    this.#pongSeen = false;
    this.#socket.ping();
  }

  #reportProgress(): void {
    const turns = this.#parts?.turns.takeProgressed() ?? [];
    if (turns.length > 0) this.send({ type: 'turnsProgressed', turns });
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
