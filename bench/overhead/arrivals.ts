/**
 * When the requests of an open loop are due. The times are fixed before the window begins and do not
 * depend on any answer, so a slow gateway meets the same arrivals as a fast one (no coordinated omission).
 */
import { createGenerator, nextRandom } from '../../testkit/sim-engine/core/random.ts';

/**
 * One arrival in each slot of `1000 / ratePerSecond` ms, at a seeded place within it: the rate is exact
 * in every part of the window, and the arrivals keep no step with timers of the engine or of a gateway.
 * @returns milliseconds from the start of the window, ascending.
 * @throws RangeError when rate or length is not a positive number.
 */
export function arrivalsMs(ratePerSecond: number, windowMs: number, seed: number): readonly number[] {
  if (!(ratePerSecond > 0) || !(windowMs > 0)) {
    throw new RangeError(`cannot plan ${ratePerSecond} requests/s for ${windowMs} ms`);
  }
  const generator = createGenerator(seed);
  const slotMs = 1_000 / ratePerSecond;
  const count = Math.round(windowMs / slotMs);
  return Array.from({ length: count }, (_, index) => (index + nextRandom(generator)) * slotMs);
}
