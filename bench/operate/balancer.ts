/**
 * The bench's own load balancer, in the client: takes servers in turn, and asks the next one where a server
 * cannot have begun anything: nobody listens there, or it answers that it is stopping. Such a server is left out
 * for a second, as common balancers do it, if there is another one. What broke off is not asked again here.
 * Everything that is not an answer is written down.
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
/** So long a server is left out that could take nothing. */
const leftOutMs = 1_000;
/** So long all servers may be away before a request fails. */
const nobodyLimitMs = 60_000;

export class Balancer {
  readonly #servers: readonly Server[];
  readonly #passOn: PassOn;
  readonly exchanges: Exchange[] = [];
  /** Until when a server is left out. */
  readonly #leftOut = new Map<Server, number>();
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
      let last: unknown = new Error('there is no server');
      for (const server of this.#inTurn()) {
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
          this.#leftOut.set(server, Date.now() + leftOutMs);
        }
      }
      this.#nobody += 1;
      if (Date.now() > giveUpMs) throw last;
      await sleep(pauseMs);
    }
  }

  /** Those that are left out come last: should no other take the request, they are asked all the same. */
  #inTurn(): readonly Server[] {
    this.#turn += 1;
    const first = this.#turn % this.#servers.length;
    const turned = [...this.#servers.slice(first), ...this.#servers.slice(0, first)];
    const isOut = (server: Server): boolean => (this.#leftOut.get(server) ?? 0) > Date.now();
    return [...turned.filter((server) => !isOut(server)), ...turned.filter(isOut)];
  }

  /** Beyond 100,000 nothing more is kept; so many failures are a verdict by themselves. */
  write(exchange: Exchange): void {
    if (this.exchanges.length < keptExchanges) this.exchanges.push(exchange);
  }
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300);
}
