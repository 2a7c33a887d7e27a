/**
 * Holds the first turn of each of some runs at the engines until all runs have one, and then lets all of them go:
 * however long it takes to spawn them, there is a time when all are under way.
 */
import type { HeldStream } from '../../testkit/sim-engine/holds.ts';
import type { SimEngine } from '../../testkit/sim-engine/host.ts';
import type { RequestRecord } from '../../testkit/sim-engine/request-log.ts';
import { turnOfRequest } from './runs.ts';

type Engine = Pick<SimEngine, 'holdNext'>;

export class Gate {
  readonly #engines: readonly Engine[];
  /** Holds that have met no turn yet, by engine: those left over serve the next time. */
  readonly #unused = new Map<Engine, Set<HeldStream>>();
  readonly #held: HeldStream[] = [];
  /** Runs whose first turn is waited for; empty: the gate is open. */
  readonly #awaited = new Set<string>();

  constructor(engines: readonly Engine[]) {
    this.#engines = engines;
  }

  /** Closes the gate; it opens when the first turns of all these runs have come. @param runs their tags. */
  close(runs: readonly string[]): void {
    for (const tag of runs) this.#awaited.add(tag);
    for (const engine of this.#engines) {
      const unused = this.#unused.get(engine) ?? new Set();
      this.#unused.set(engine, unused);
      while (unused.size < runs.length) this.#addHold(engine, unused);
    }
  }

  /** Lets everybody go, and holds nobody any more. */
  open(): void {
    this.#awaited.clear();
    for (const held of this.#held.splice(0)) held.releaseAll();
  }

  #addHold(engine: Engine, unused: Set<HeldStream>): void {
    const hold = engine.holdNext((record) => this.#isAwaited(record));
    unused.add(hold);
    hold.arrived.then(
      (record) => {
        unused.delete(hold);
        this.#held.push(hold);
        this.#awaited.delete(turnOfRequest(record.body)?.tag ?? '');
        if (this.#awaited.size === 0) this.open();
      },
      () => undefined,
    );
  }

  #isAwaited({ body }: RequestRecord): boolean {
    if (this.#awaited.size === 0) return false;
    const of = turnOfRequest(body);
    return of !== null && of.turn === 1 && this.#awaited.has(of.tag);
  }
}
