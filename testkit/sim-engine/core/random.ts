/**
 * Seeded randomness for pure code: a text hash and a small generator whose whole state is one number.
 * Not for secrets.
 */

/** Generator state; carried by whoever draws, advanced in place by {@link nextRandom}. */
export interface Generator {
  state: number;
}

/** Final mixing of a 32-bit hash, so that close inputs give distant outputs. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** 32-bit hash of `text`; different seeds give unrelated hashes. */
export function hashText(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mix(hash);
}

export function createGenerator(seed: number): Generator {
  return { state: seed >>> 0 };
}

/** The next number in [0, 1). */
export function nextRandom(generator: Generator): number {
  generator.state = (generator.state + 0x9e3779b9) >>> 0;
  return mix(generator.state) / 0x1_0000_0000;
}

/** An integer from `lowest` to `highest`, both included. */
export function nextInteger(generator: Generator, lowest: number, highest: number): number {
  return lowest + Math.floor(nextRandom(generator) * (highest - lowest + 1));
}

/** One of `items`; undefined when there are none. */
export function pick<T>(generator: Generator, items: readonly T[]): T | undefined {
  return items[Math.floor(nextRandom(generator) * items.length)];
}
