/** The words behind `npm run bench -- durability`. Pure. */

export interface DurabilityOptions {
  readonly kills: number;
  readonly seed: number;
  /** Runs in progress at once. */
  readonly clients: number;
}

export const durabilityUsage = '[--quick] [--seed=N]';

const fullKills = 200;
const quickKills = 6;

/** @returns null when a word is not known. */
export function parseDurabilityOptions(words: readonly string[]): DurabilityOptions | null {
  let options: DurabilityOptions = { kills: fullKills, seed: 1, clients: 16 };
  for (const word of words) {
    const seed = /^--seed=(\d{1,9})$/.exec(word)?.[1];
    if (word === '--quick') options = { ...options, kills: quickKills };
    else if (seed !== undefined) options = { ...options, seed: Number(seed) };
    else return null;
  }
  return options;
}
