/** The words behind `npm run bench -- durability`. Pure. */
import { partNames, type PartName } from './kill-plan.ts';

export interface DurabilityOptions {
  readonly kills: number;
  readonly seed: number;
  /** Runs in progress at once. */
  readonly clients: number;
  /** The one part that dies, each time alone; null: all of them, also two at a time. */
  readonly only: PartName | null;
}

export const durabilityUsage = `[--quick] [--kills=N] [--seed=N] [--only=${partNames.join('|')}]`;

const fullKills = 200;
const quickKills = 30;

/** @returns null when a word is not known. */
export function parseDurabilityOptions(words: readonly string[]): DurabilityOptions | null {
  let options: DurabilityOptions = { kills: fullKills, seed: 1, clients: 16, only: null };
  for (const word of words) {
    const seed = /^--seed=(\d{1,9})$/.exec(word)?.[1];
    const only = partNames.find((name) => word === `--only=${name}`);
    const kills = /^--kills=([1-9]\d{0,3})$/.exec(word)?.[1];
    if (word === '--quick') options = { ...options, kills: quickKills };
    else if (only !== undefined) options = { ...options, only };
    else if (kills !== undefined) options = { ...options, kills: Number(kills) };
    else if (seed !== undefined) options = { ...options, seed: Number(seed) };
    else return null;
  }
  return options;
}
