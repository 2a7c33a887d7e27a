/** The command line of `npm run sim`. */

export interface SimArguments {
  /** A scenario, `all` or `fairness`. */
  readonly what: string;
  /** Shorter windows, and other seeds: what is tuned on quick runs is not reported. */
  readonly quick: boolean;
  readonly seeds: number | null;
  /** Only these; empty: every arm. */
  readonly arms: readonly string[];
}

export const usage = 'usage: npm run sim -- SCENARIO|all|fairness [--quick] [--seeds N] [--arm NAME]...';

/** @throws Error with a line for the user */
export function parseArguments(words: readonly string[]): SimArguments {
  let what: string | null = null;
  let quick = false;
  let seeds: number | null = null;
  const arms: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word === '--quick') quick = true;
    else if (word === '--seeds' || word === '--arm') {
      index += 1;
      const value = words[index];
      if (value === undefined) throw new Error(`${word} needs a value; ${usage}`);
      if (word === '--arm') arms.push(value);
      else seeds = parseCount(value);
    } else if (word.startsWith('-') || what !== null) throw new Error(`unexpected '${word}'; ${usage}`);
    else what = word;
  }
  if (what === null) throw new Error(usage);
  return { what, quick, seeds, arms };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) {
    throw new Error(`--seeds ${text}: expected a whole number from 1 to 1000`);
  }
  return count;
}
