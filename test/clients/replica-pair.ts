/**
 * Two replicas of one scripted engine, started before the pool is and given their script later, and the
 * crowd that keeps one of them busy: filler turns, sent through the proxy as runs of their own, that stay
 * in flight at the replica of a paused run while the other one stands empty. Whoever then looks at load
 * only sends the run's next turn to the wrong one.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoopbackServer } from './loopback-server.ts';

/** Runs whose id begins so are fillers and no client's. */
export const fillerPrefix = 'filler-';
const waitLimitMs = 15_000;
const maxFillers = 6;

/** Waits for the signal, at most 15 s: a script must answer even when a client behaves unexpectedly. */
export async function once(signal: AbortSignal): Promise<void> {
  await delay(waitLimitMs, undefined, { signal }).catch(() => {});
}

export type Script<Turn, Reply> = (replica: string, turn: Turn) => Promise<Reply>;

export interface ReplicaPair<Turn, Reply> {
  readonly replicas: readonly { readonly id: string; readonly url: string }[];
  /** Turns in flight there now, fillers too. */
  inFlight(replica: string): number;
  /** Whether the other replica has fewer turns in flight than this one has beside the turn that asks. */
  isTheBusier(replica: string): boolean;
  /** What both answer from now on. */
  play(script: Script<Turn, Reply>): void;
  close(): Promise<void>;
}

export async function startReplicaPair<Turn, Reply>(
  name: string,
  start: (script: (turn: Turn) => Promise<Reply>) => Promise<LoopbackServer>,
): Promise<ReplicaPair<Turn, Reply>> {
  const counts = new Map<string, number>();
  const inFlight = (replica: string): number => counts.get(replica) ?? 0;
  let script: Script<Turn, Reply> = async () => await Promise.reject(new Error('no script is played yet'));
  const answer = async (replica: string, turn: Turn): Promise<Reply> => {
    counts.set(replica, inFlight(replica) + 1);
    try {
      return await script(replica, turn);
    } finally {
      counts.set(replica, inFlight(replica) - 1);
    }
  };
  const ids = [`${name}-a`, `${name}-b`];
  const servers = await Promise.all(
    ids.map(async (id) => await start(async (turn) => await answer(id, turn))),
  );
  return {
    replicas: servers.map(({ url }, index) => ({ id: ids[index] ?? '', url })),
    inFlight,
    isTheBusier: (replica) =>
      ids.some((other) => other !== replica && inFlight(other) < inFlight(replica) - 1),
    play: (next) => {
      script = next;
    },
    close: async () => {
      await Promise.all(servers.map(async (server) => await server.close()));
    },
  };
}

/** Sends one filler turn of the run to the proxy; resolves when it has been answered. */
export type SendFiller = (run: string, signal: AbortSignal) => Promise<void>;

interface Filler {
  readonly replica: string;
  readonly release: () => void;
}

export class Crowd {
  readonly #send: SendFiller;
  readonly #stop = new AbortController();
  readonly #sent: Promise<void>[] = [];
  #held: Filler[] = [];
  #arrived: (() => void) | null = null;

  constructor(send: SendFiller) {
    this.#send = send;
  }

  /** What the script does with a filler turn: it stays in flight until the crowd lets it go. */
  async hold(replica: string): Promise<void> {
    await new Promise<void>((release) => {
      this.#held.push({ replica, release });
      this.#arrived?.();
    });
  }

  /**
   * Sends fillers until one is in flight at the replica, then lets those elsewhere go.
   * @returns whether there is one.
   */
  async busy(replica: string): Promise<boolean> {
    const isThere = (): boolean => this.#held.some((filler) => filler.replica === replica);
    for (let number = 1; number <= maxFillers && !isThere(); number += 1) {
      const arrived = new AbortController();
      this.#arrived = () => arrived.abort();
      this.#sent.push(this.#send(`${fillerPrefix}${randomUUID()}`, this.#stop.signal).catch(() => {}));
      await once(arrived.signal);
    }
    this.#letGo((filler) => filler.replica !== replica);
    return isThere();
  }

  /** Lets all go; resolves when their turns have ended. */
  async disperse(): Promise<void> {
    this.#letGo(() => true);
    const timer = setTimeout(() => this.#stop.abort(), waitLimitMs);
    await Promise.all(this.#sent);
    clearTimeout(timer);
  }

  #letGo(which: (filler: Filler) => boolean): void {
    const going = this.#held.filter(which);
    this.#held = this.#held.filter((filler) => !which(filler));
    for (const filler of going) filler.release();
  }
}
