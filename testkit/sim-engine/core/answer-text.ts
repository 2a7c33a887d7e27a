/** The final answer: what was asked, a few words of each tool result, and filler up to a length. */
import { nextInteger, pick, type Generator } from './random.ts';
import { tokenize } from './tokens.ts';

const filler =
  'this shows that the result holds in general and also for each case we looked at so nothing more is needed here'.split(
    ' ',
  );

export interface NamedResult {
  readonly tool: string;
  readonly text: string;
}

/**
 * @param tokens exact length in tokens (at least 1); null: 20 to 60, longer when the quotes need it.
 */
export function answerText(
  task: string,
  results: readonly NamedResult[],
  tokens: number | null,
  generator: Generator,
): string {
  const quotes = results.map(({ tool, text }) => `${tool} says "${firstWords(text, 12)}"`);
  const start = `About "${firstWords(task, 8)}":${quotes.length > 0 ? ` ${quotes.join('; ')}.` : ''}`;
  const pieces = tokenize(start);
  const wanted = tokens ?? Math.max(pieces.length, nextInteger(generator, 20, 60));
  while (pieces.length < wanted) pieces.push(...tokenize(` ${pick(generator, filler) ?? 'so'}`));
  return pieces.slice(0, Math.max(1, wanted)).join('');
}

function firstWords(text: string, count: number): string {
  const words = text.replaceAll('"', "'").split(/\s+/).filter(Boolean);
  return words.slice(0, count).join(' ').slice(0, 120) + (words.length > count ? '…' : '');
}
