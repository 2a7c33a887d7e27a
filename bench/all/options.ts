/** The words behind `npm run bench -- all`. Pure. */
import { planOf, type Entry } from './plan.ts';

export const allUsage = '[--quick] [--only=NAME,...]';

/** @returns null when a word is not known. */
export function parseAllOptions(words: readonly string[]): readonly Entry[] | null {
  const quick = words.includes('--quick');
  let only: readonly string[] | null = null;
  for (const word of words) {
    if (word === '--quick') continue;
    if (!word.startsWith('--only=')) return null;
    only = word.slice('--only='.length).split(',');
  }
  if (only === null) return planOf(quick);
  const plan = planOf(quick, only);
  return plan.length === only.length ? plan : null;
}
