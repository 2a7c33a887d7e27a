/**
 * The proxy's end of the link to the scheduler: one connection, opened again whenever it is lost, first at
 * once and then every second. Of several schedulers one is active and the others refuse: they are tried in
 * turn, round after round. Each connection begins with a resync. It carries messages; what they mean is decided
 * by the turns, runs and pool that it is given.
 */
import type { Logger } from 'pino';
import type { ProxyId, RunId } from '../../contracts/ids.ts';
import type { ProxyMessage, SchedulerMessage } from '../../contracts/link-protocol.ts';
import type { ProxyLimits } from '../limits.ts';
import type { LinkCarrier, LinkTransport } from './link-transport.ts';
import type { LiveTurns } from './live-turns.ts';
import type { ReplicaPool } from './replica-pool.ts';
import type { RunRegistry } from './run-registry.ts';

const retryEveryMs = 1_000;
/** After a round of several schedulers of which none was active, for the first rounds: one soon takes over. */
const nextRoundMs = 150;
/** Rounds after which it is no take-over any more: some 5 s. */
const quickRounds = 30;
/** Ends of runs that are kept while the link is down; the oldest are dropped above. */
const maxPendingEnds = 10_000;
/** A connection that lasted less does not count as one: the next try waits. */
const settledAfterMs = 1_000;

export interface LinkParts {
  readonly turns: LiveTurns;
  readonly runs: RunRegistry;
  readonly pool: ReplicaPool;
  readonly logger: Logger;
  readonly nowMs: () => number;
  readonly limits: Pick<ProxyLimits, 'progressEveryMs'>;
}

export class LinkClient {
  readonly #carriers: readonly LinkCarrier[];
  readonly #proxy: ProxyId;
  /** Of the carrier in use. */
  #index = 0;
  /** Tries in a row that came to no link, or to none that lasted. */
  #failures = 0;
  #refused = false;
  #parts: LinkParts | null = null;
  #transport: LinkTransport | null = null;
  #open = false;
  #openedAtMs = 0;
  #closed = false;
  #retryTimer: NodeJS.Timeout | null = null;
  #progress: NodeJS.Timeout | null = null;
  readonly #pendingEnds = new Set<RunId>();

  /** @param carriers one for each scheduler, at least one. */
  constructor(carriers: readonly LinkCarrier[], proxy: ProxyId) {
    this.#carriers = carriers;
    this.#proxy = proxy;
  }

  /** Where the link is, or is tried to be. */
  get url(): string {
    return this.#carrier().url;
  }

  get connected(): boolean {
    return this.#open;
  }

  start(parts: LinkParts): void {
    this.#parts = parts;
    this.#progress = setInterval(() => this.#reportProgress(), parts.limits.progressEveryMs);
    this.#connect();
  }

  /** Sends a message, or drops it while the link is down: the next resync tells the state instead. */
  send(message: ProxyMessage): void {
    if (this.#open) this.#transport?.send(message);
  }

  /** As {@link send}, in order with it, but within some milliseconds: for what nobody waits for. */
  sendSoon(message: ProxyMessage): void {
    if (this.#open) this.#transport?.sendSoon(message);
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

  /** Closes the link for good; resolves when it is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#progress !== null) clearInterval(this.#progress);
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    await this.#transport?.close();
  }

  #connect(): void {
    this.#retryTimer = null;
    this.#transport = this.#carrier().open({
      opened: () => this.#opened(),
      received: (message) => this.#received(message),
      lost: () => this.#lost(),
      answered: (status) => this.#answered(status),
    });
  }

  #opened(): void {
    const parts = this.#parts;
    if (parts === null || this.#closed) return;
    this.#open = true;
    this.#refused = false;
    this.#openedAtMs = parts.nowMs();
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
        url: this.url,
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
      { url: this.url, status },
      "the scheduler refuses this proxy's token: FERMATA_TOKEN differs; set the same for proxy and scheduler",
    );
  }

  #lost(): void {
    const parts = this.#parts;
    const wasOpen = this.#open;
    this.#open = false;
    this.#transport = null;
    if (this.#closed || parts === null) return;
    const settled = wasOpen && parts.nowMs() - this.#openedAtMs >= settledAfterMs;
    if (wasOpen) parts.logger.warn({ url: this.url }, 'link to the scheduler lost; turns are held meanwhile');
    if (settled) this.#failures = 0;
    const delayMs = settled ? 0 : this.#delayAfterFailure();
    this.#index = (this.#index + 1) % this.#carriers.length;
    this.#retryTimer = setTimeout(() => this.#connect(), delayMs);
  }

  #carrier(): LinkCarrier {
    const carrier = this.#carriers[this.#index];
    if (carrier === undefined) throw new Error('a link needs the address of a scheduler');
    return carrier;
  }

  /** The others are asked at once; a round in which nobody was active is followed by a pause. */
  #delayAfterFailure(): number {
    this.#failures += 1;
    const count = this.#carriers.length;
    if (this.#failures % count !== 0) return 0;
    const quick = count > 1 && this.#failures / count <= quickRounds;
    return quick ? nextRoundMs : retryEveryMs;
  }

  #received(message: SchedulerMessage): void {
    const parts = this.#parts;
    if (parts === null) return;
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

  #reportProgress(): void {
    const turns = this.#parts?.turns.takeProgressed() ?? [];
    if (turns.length > 0) this.send({ type: 'turnsProgressed', turns });
  }
}
