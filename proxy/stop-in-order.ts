/**
 * How the proxy stops: held turns are refused at once, turns in flight get a time to finish and are then
 * cut, and no connection that is merely open is waited for. Until then it listens, so that whoever asks is
 * told that it is stopping. Ends within `drainMs` and a few seconds, whatever clients and engines do.
 */
import type { FastifyInstance } from 'fastify';
import type { ProxyContext } from './proxy-context.ts';

export interface Stop {
  /** No new turn is taken. */
  readonly draining: boolean;
}

export class Stopping implements Stop {
  #draining = false;
  #closed: Promise<void> | null = null;
  #cut: () => void = () => {};
  readonly #cutRequested: Promise<false>;

  constructor() {
    this.#cutRequested = new Promise((resolve) => {
      this.#cut = () => resolve(false);
    });
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Nothing is waited for any more: what is in flight is cut at once, now or when `begin` is called. */
  cut(): void {
    this.#cut();
  }

  /** Stops; every call resolves when all is closed. */
  async begin(app: FastifyInstance, context: ProxyContext): Promise<void> {
    this.#draining = true;
    this.#closed ??= this.#stop(app, context);
    await this.#closed;
  }

  async #stop(app: FastifyInstance, context: ProxyContext): Promise<void> {
    const { turns, limits, logger } = context;
    turns.drain();
    if (turns.inFlightCount > 0) logger.info({ turns: turns.inFlightCount }, 'waiting for turns in flight');
    if (!(await Promise.race([turns.whenNoneInFlight(limits.drainMs), this.#cutRequested]))) {
      logger.warn({ turns: turns.inFlightCount }, 'cutting turns that did not finish in time');
      turns.cut();
      // Their ends are reported before the link closes.
      await turns.whenNoneInFlight(limits.lastBytesMs);
    }
    await context.link.close();
    await context.limiter.close();
    await context.agent.destroy();
    const closed = app.close();
    const cutOff = setTimeout(() => app.server.closeAllConnections(), limits.lastBytesMs);
    await closed;
    clearTimeout(cutOff);
  }
}
