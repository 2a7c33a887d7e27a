/**
 * Several addresses of which any one will do: which is asked first, and which is left for last because it did
 * not answer a moment ago. Pure: the clock is handed in, nobody is asked.
 */

/** Roots of services, in the order given; one may stand alone. */
export type Addresses = string | readonly string[];

/** Without slashes at their ends. */
export function addressList(addresses: Addresses): readonly string[] {
  const list = typeof addresses === 'string' ? [addresses] : addresses;
  return list.map((address) => address.replace(/\/+$/, ''));
}

/** Milliseconds for which an address that did not answer is asked after all others. */
const awayMs = 5_000;

export class AddressOrder {
  readonly all: readonly string[];
  readonly #nowMs: () => number;
  readonly #awaySinceMs = new Map<string, number>();

  /** @param nowMs a clock that never goes back. @throws RangeError without any address. */
  constructor(addresses: Addresses, nowMs: () => number) {
    this.all = addressList(addresses);
    this.#nowMs = nowMs;
    if (this.all.length === 0) throw new RangeError('at least one address is needed');
  }

  /**
   * All addresses, those that answer first. @param key what belongs together goes to the same address while that
   * answers, and different keys are spread over all; absent: the order given.
   */
  inTurn(key?: string): readonly string[] {
    const { all } = this;
    if (all.length === 1) return all;
    const start = key === undefined ? 0 : hashOf(key) % all.length;
    const rotated = [...all.slice(start), ...all.slice(0, start)];
    if (this.#awaySinceMs.size === 0) return rotated;
    return [...rotated.filter((one) => !this.#isAway(one)), ...rotated.filter((one) => this.#isAway(one))];
  }

  noteAway(address: string): void {
    this.#awaySinceMs.set(address, this.#nowMs());
  }

  noteAnswered(address: string): void {
    this.#awaySinceMs.delete(address);
  }

  #isAway(address: string): boolean {
    const sinceMs = this.#awaySinceMs.get(address);
    return sinceMs !== undefined && this.#nowMs() - sinceMs < awayMs;
  }
}

/** FNV-1a, 32 bit: spreads well enough, and is the same in every process. */
function hashOf(key: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01_00_01_93);
  }
  return hash >>> 0;
}
