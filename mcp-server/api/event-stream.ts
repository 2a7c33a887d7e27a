/**
 * `GET /api/events`: what a client may see of the feed, as server-sent events. A reader that does not
 * keep up is cut off, with nothing more held for it than its connection holds; it comes back with the id
 * of the last event that it has seen. No stream lasts longer than a token may outlive its end.
 */
import type { ServerResponse } from 'node:http';
import type { Asker } from '../runs/asker.ts';
import { poolFor } from '../runs/pool-client.ts';
import type { FeedListener, FeedStart, PoolNews } from '../runs/run-feed.ts';
import type { RunService } from '../runs/run-service.ts';
import { changeText, eventText } from './event-bodies.ts';

export interface EventStreamOptions {
  /** Milliseconds after which a stream ends; the client comes back by itself, and shows its token again. */
  readonly lastsMs?: number | undefined;
  readonly keepAliveMs?: number | undefined;
  /** Bytes that may wait for a reader. */
  readonly maxWaitingBytes?: number | undefined;
}

const defaults = { lastsMs: 900_000, keepAliveMs: 15_000, maxWaitingBytes: 1_048_576 };
const retryMs = 2_000;

export class EventStreams {
  readonly #service: Pick<RunService, 'listen'>;
  readonly #options: typeof defaults;
  readonly #open = new Set<() => void>();

  constructor(service: Pick<RunService, 'listen'>, options: EventStreamOptions = {}) {
    this.#service = service;
    this.#options = {
      lastsMs: options.lastsMs ?? defaults.lastsMs,
      keepAliveMs: options.keepAliveMs ?? defaults.keepAliveMs,
      maxWaitingBytes: options.maxWaitingBytes ?? defaults.maxWaitingBytes,
    };
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Answers with a stream. Nothing is written before it is known that there is one to tell of.
   * @param begin called right before anything is written.
   * @param after id of the last event that the client has seen; null: none.
   * @throws UserFault when there is no room, or when Temporal cannot be asked.
   */
  async open(raw: ServerResponse, begin: () => void, asker: Asker, after: string | null): Promise<void> {
    const { lastsMs, keepAliveMs, maxWaitingBytes } = this.#options;
    const write = (text: string): void => {
      if (raw.destroyed || raw.writableEnded) return;
      raw.write(text);
      if (raw.writableLength > maxWaitingBytes) raw.destroy();
    };
    const ready = ({ id, missed }: FeedStart): void => {
      begin();
      raw.writeHead(200, streamHeaders);
      write(`retry: ${retryMs}\n\n`);
      // With an id of its own it would stand for what is still to be told after it.
      write(eventText('ready', { missed }, missed || after === null ? id : null));
    };
    const leave = await this.#service.listen(listenerFor(asker, ready, write), after);
    const end = (): void => {
      // The end of the stream is told of as well.
      if (!this.#open.delete(end)) return;
      clearInterval(keepAlive);
      clearTimeout(last);
      leave();
      if (!raw.destroyed && !raw.writableEnded) raw.end();
    };
    const keepAlive = setInterval(() => write(': here\n\n'), keepAliveMs);
    const last = setTimeout(end, lastsMs);
    this.#open.add(end);
    raw.once('close', end);
    raw.on('error', end);
    if (raw.destroyed) end();
  }

  /** Ends all streams; clients come back after a moment. */
  close(): void {
    for (const end of this.#open) end();
  }
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that gather what they pass on must not do so here.
  'x-accel-buffering': 'no',
};

function listenerFor(
  asker: Asker,
  onReady: FeedListener['onReady'],
  write: (text: string) => void,
): FeedListener {
  let told = '';
  return {
    asker,
    onReady,
    onChange: (event) => write(changeText(event)),
    onPool(news) {
      const text = poolText(news, asker);
      // What has changed may be nothing that this one may see.
      if (text === told) return;
      told = text;
      write(text);
    },
    onTrouble: (fault) => write(eventText('trouble', { fault })),
  };
}

function poolText({ status, fault }: PoolNews, asker: Asker): string {
  if (status === null) return eventText('pool', { pool: null, fault });
  const { replicas, held, runsByPhase, proxies } = poolFor(status, asker);
  return eventText('pool', {
    pool: { replicas: [...replicas], held: [...held], runsByPhase, proxies },
    fault: null,
  });
}
