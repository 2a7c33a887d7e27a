/** The words behind `npm run bench -- overhead`. Pure. */
import { armNames, type ArmName } from './arms/arm.ts';

export interface OverheadOptions {
  readonly quick: boolean;
  readonly soak: boolean;
  /** `direct` and `fermata` are always among them. */
  readonly arms: readonly ArmName[];
}

export const overheadUsage =
  '[--quick] [--soak] [--arms=pass-through,fermata-separate,litellm,portkey,sglang-router]';

/** @returns null when a word is not known. */
export function parseOverheadOptions(words: readonly string[]): OverheadOptions | null {
  let arms: readonly ArmName[] = armNames;
  for (const word of words) {
    if (word === '--quick' || word === '--soak') continue;
    if (!word.startsWith('--arms=')) return null;
    const given = word.slice('--arms='.length).split(',');
    if (!given.every((name) => armNames.some((known) => known === name))) return null;
    arms = armNames.filter((name) => name === 'direct' || name === 'fermata' || given.includes(name));
  }
  return { quick: words.includes('--quick'), soak: words.includes('--soak'), arms };
}
