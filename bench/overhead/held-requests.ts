/** Many requests at once that are sent and then left open, each on a connection of its own. */
import { Pool } from 'undici';
import { Exchange, chatHeaders, sendChat } from './exchange.ts';
import type { Order } from './load-protocol.ts';
import { bodyMaker } from './request-bodies.ts';

/** Connections are opened in groups, so that no accept queue overflows. */
const groupSize = 100;

export class HeldRequests {
  #pool: Pool | null = null;
  #ended = 0;

  /** @returns how many have not been answered by the time the last one was written. */
  async hold(order: Extract<Order, { kind: 'hold' }>): Promise<number> {
    await this.release();
    const pool = new Pool(order.target.url, { connections: order.count, headersTimeout: 0, bodyTimeout: 0 });
    this.#pool = pool;
    this.#ended = 0;
    const bodyOf = bodyMaker({ model: order.model, stream: true, maxTokens: order.maxTokens });
    const headers = chatHeaders(order.target.headers);
    for (let index = 0; index < order.count; index += groupSize) {
      const group = Math.min(groupSize, order.count - index);
      await Promise.all(
        Array.from({ length: group }, async (_, offset) => {
          await sent(pool, headers, bodyOf(`held.${index + offset}`), () => {
            this.#ended += 1;
          });
        }),
      );
    }
    return order.count - this.#ended;
  }

  async release(): Promise<void> {
    await this.#pool?.destroy();
    this.#pool = null;
  }
}

/** Resolves when the request is being written, or has failed to be. */
async function sent(
  pool: Pool,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  onEnd: () => void,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const exchange = new Exchange({
      stream: true,
      onEnd: () => {
        onEnd();
        resolve();
      },
    });
    exchange.onRequestStart = () => resolve();
    sendChat(pool, headers, body, exchange);
  });
}
