/**
 * The bench's own load balancer, in the client: takes servers in turn, and asks the next one where a server
 * cannot have begun anything: nobody listens there, or it answers that it is stopping. What broke off is not
 * asked again here. Everything that is not an answer is written down.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Server {
  readonly name: string;
  readonly url: string;
}

/** One request to one server; milliseconds since the epoch. */
export interface Exchange {
  readonly server: string;
  readonly startMs: number;
  readonly endMs: number;
  /** `refused`: nobody listened. `turned-away`: it was stopping. Both were passed on; a `failed` one was not. */
  readonly outcome: 'refused' | 'turned-away' | 'failed';
  readonly why: string;
}

/** Whether the server has begun nothing, so that another one may be asked. */
export type PassOn = (error: unknown) => 'refused' | 'turned-away' | null;

const keptExchanges = 100_000;
const pauseMs = 100;
/** So long all servers may be away before a request fails. */
const nobodyLimitMs = 60_000;

export class Balancer {
  readonly #servers: readonly Server[];
  readonly #passOn: PassOn;
  readonly exchanges: Exchange[] = [];
  #turn = 0;
  #nobody = 0;

  constructor(servers: readonly Server[], passOn: PassOn) {
    this.#servers = servers;
    this.#passOn = passOn;
  }

  /** Requests that met no server at all and had to wait. */
  get nobodyThere(): number {
    return this.#nobody;
  }

  /** @throws what `ask` throws, unless it may be passed on; then when no server has taken it for a minute. */
  async send<T>(ask: (server: Server) => Promise<T>): Promise<T> {
    const giveUpMs = Date.now() + nobodyLimitMs;
    for (;;) {
      this.#turn += 1;
      const first = this.#turn;
      let last: unknown = new Error('there is no server');
      for (let count = 0; count < this.#servers.length; count += 1) {
        const server = this.#servers[(first + count) % this.#servers.length];
        if (server === undefined) break;
        const startMs = Date.now();
        try {
          return await ask(server);
        } catch (error) {
          last = error;
          const passed = this.#passOn(error);
          this.write({
            server: server.name,
            startMs,
            endMs: Date.now(),
            outcome: passed ?? 'failed',
            why: wordsOf(error),
          });
          if (passed === null) throw error;
        }
      }
      this.#nobody += 1;
      if (Date.now() > giveUpMs) throw last;
      await sleep(pauseMs);
    }
  }

  /** Beyond 100,000 nothing more is kept; so many failures are a verdict by themselves. */
  write(exchange: Exchange): void {
    if (this.exchanges.length < keptExchanges) this.exchanges.push(exchange);
  }
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300);
}
