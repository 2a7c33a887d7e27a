/** The command line of `npm run bench -- flood` and `routing`. */
import { engineChoices, type EngineChoice } from './plan.ts';

export interface FloodOptions {
  /** Shorter windows; the bars stay. */
  readonly quick: boolean;
  readonly engine: EngineChoice;
  /** Only these; null: every arm. Bars over an arm that is not run are missed. */
  readonly arms: readonly string[] | null;
  readonly lanes: number | null;
}

export const floodUsage =
  '[--quick] [--engine=simulated|llamacpp|llamacpp-kept] [--arms=NAME,...] [--lanes=N]';

/** @returns null when a word is none of its own. */
export function parseFloodOptions(words: readonly string[]): FloodOptions | null {
  let options: FloodOptions = { quick: false, engine: 'simulated', arms: null, lanes: null };
  for (const word of words) {
    const [name, value = ''] = word.split('=', 2);
    if (word === '--quick') options = { ...options, quick: true };
    else if (name === '--engine' && isEngine(value)) {
      options = { ...options, engine: value };
    } else if (name === '--arms' && value !== '') options = { ...options, arms: value.split(',') };
    else if (name === '--lanes' && /^[1-8]$/.test(value)) options = { ...options, lanes: Number(value) };
    else return null;
  }
  return options;
}

function isEngine(value: string): value is EngineChoice {
  return engineChoices.some((choice) => choice === value);
}
