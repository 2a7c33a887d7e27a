/**
 * An open loop: requests go out when they are due, whatever became of those before. Times count from the
 * moment a request was due, so waiting that a slow gateway causes is its own.
 */
import type { Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { arrivalsMs } from './arrivals.ts';
import { ChunkReader, type ChunkTimes } from './chunk-times.ts';
import { clockMs } from './clock.ts';
import { Exchange, chatHeaders, sendChat } from './exchange.ts';
import { Failures } from './failures.ts';
import type { OpenOrder, OpenResult } from './load-protocol.ts';
import { bodyMaker } from './request-bodies.ts';
import { quantilesOf } from './statistics.ts';

/** More under way than this and a request is dropped, and counted as such. */
const maxUnderWay = 1_000;
/** After the last arrival, open requests get this long, then are cut and counted as unfinished. */
const lastEndsMs = 3_000;
/** The first part of a window opens connections and does not count. */
const warmUpShare = 0.1;
const headStartMs = 20;
const timeoutMs = 60_000;

interface Samples extends ChunkTimes {
  readonly firstByteMs: number[];
  readonly latenessMs: number[];
}

export async function runOpenLoop(order: OpenOrder, pacer: Worker): Promise<OpenResult> {
  return await new OpenLoop(order).run(pacer);
}

class OpenLoop {
  readonly #order: OpenOrder;
  readonly #arrivals: readonly number[];
  /** Requests before this one do not count. */
  readonly #firstCounted: number;
  readonly #pool: Pool;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #bodyOf: (conversation: string) => Buffer;
  readonly #samples: Samples = { firstByteMs: [], latenessMs: [], delaysMs: [], gapExcessMs: [] };
  readonly #failures = new Failures();
  readonly #underWay = new Map<number, { readonly dueAtMs: number; readonly exchange: Exchange }>();
  readonly #startMs = clockMs() + headStartMs;
  #sent = 0;
  #whole = 0;
  #dropped = 0;
  #closed = false;
  #onEmpty: (() => void) | null = null;

  constructor(order: OpenOrder) {
    this.#order = order;
    this.#arrivals = arrivalsMs(order.ratePerSecond, order.windowMs, order.seed);
    this.#firstCounted = Math.floor(this.#arrivals.length * warmUpShare);
    this.#pool = new Pool(order.target.url, {
      connections: maxUnderWay,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    this.#headers = chatHeaders(order.target.headers);
    this.#bodyOf = bodyMaker({ model: order.model, stream: true, maxTokens: order.maxTokens });
  }

  async run(pacer: Worker): Promise<OpenResult> {
    await this.#sendAll(pacer);
    if (this.#underWay.size > 0) await this.#whenEmpty();
    this.#closed = true;
    const nowMs = clockMs();
    for (const [index, { dueAtMs, exchange }] of this.#underWay) {
      if (index < this.#firstCounted) continue;
      this.#samples.firstByteMs.push((exchange.firstByteAtMs ?? nowMs) - dueAtMs);
    }
    await this.#pool.destroy();
    return {
      kind: 'open',
      sent: this.#sent,
      whole: this.#whole,
      failed: this.#failures.count,
      reasons: this.#failures.reasons,
      unfinished: this.#underWay.size,
      dropped: this.#dropped,
      firstByteMs: quantilesOf(this.#samples.firstByteMs),
      chunkDelayMs: quantilesOf(this.#samples.delaysMs),
      gapExcessMs: quantilesOf(this.#samples.gapExcessMs),
      latenessMs: quantilesOf(this.#samples.latenessMs),
    };
  }

  async #sendAll(pacer: Worker): Promise<void> {
    await new Promise<void>((resolve) => {
      const onDue = (index: number): void => {
        this.#send(index);
        if (index < this.#arrivals.length - 1) return;
        pacer.off('message', onDue);
        resolve();
      };
      pacer.on('message', onDue);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      pacer.postMessage(this.#arrivals.map((afterMs) => this.#startMs + afterMs));
    });
  }

  async #whenEmpty(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lastEndsMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #send(index: number): void {
    if (this.#underWay.size >= maxUnderWay) {
      this.#dropped += 1;
      return;
    }
    const dueAtMs = this.#startMs + (this.#arrivals[index] ?? 0);
    const counts = index >= this.#firstCounted;
    this.#sent += 1;
    if (counts) this.#samples.latenessMs.push(clockMs() - dueAtMs);
    const reader = new ChunkReader();
    const times: ChunkTimes = counts ? this.#samples : { delaysMs: [], gapExcessMs: [] };
    const exchange = new Exchange({
      stream: true,
      onData: (text, atMs) => reader.feed(text, atMs, times),
      onEnd: ({ fault }) => {
        if (this.#closed) return;
        this.#underWay.delete(index);
        if (counts && exchange.firstByteAtMs !== null)
          this.#samples.firstByteMs.push(exchange.firstByteAtMs - dueAtMs);
        this.#judge(fault, reader.seen);
        if (this.#underWay.size === 0) this.#onEmpty?.();
      },
    });
    this.#underWay.set(index, { dueAtMs, exchange });
    sendChat(this.#pool, this.#headers, this.#bodyOf(`${this.#order.seed}.${index}`), exchange);
  }

  #judge(fault: string | null, chunks: number): void {
    const { maxTokens } = this.#order;
    if (fault !== null) this.#failures.add(fault);
    else if (chunks !== maxTokens) this.#failures.add(`${chunks} of ${maxTokens} chunks came`);
    else this.#whole += 1;
  }
}
