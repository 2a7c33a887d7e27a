/**
 * What the simulated model thinks of its first token: for requests that ask for one token and its
 * log-probabilities, as a classification by a generative model does. Candidates come from a `decide`
 * directive, else from the options that the conversation lists (`A) …`, `1. …`, `- …`, or
 * `one of …: …, …`), else from a few words. A candidate whose words occur in the last user message is likely.
 */
import type { SimMessage } from './conversation.ts';
import { withoutDirectives, type Directive } from './directives.ts';
import { hashText } from './random.ts';
import { tokenize } from './tokens.ts';

export interface Candidate {
  readonly token: string;
  /** Sums to at most 1 over all candidates. */
  readonly probability: number;
}

interface Option {
  readonly token: string;
  readonly label: string;
}

const listed = /^[ \t]*(?:([A-Za-z]|\d{1,2})[.):]|[-*])[ \t]+(.+)$/gm;
const enumerated = /\bone of\b(?:[^:\n]{0,80}:)?\s*([^\n]+)/i;

/** Candidates, most likely first; never empty. */
export function firstTokenCandidates(
  messages: readonly SimMessage[],
  directive: Directive,
  seed: number,
): Candidate[] {
  if (directive.decide !== undefined) {
    return sorted(Object.entries(directive.decide).map(([token, probability]) => ({ token, probability })));
  }
  const text = messages.map((message) => withoutDirectives(message.text)).join('\n');
  const input = messages.findLast((message) => message.role === 'user')?.text.toLowerCase() ?? '';
  const options = optionsIn(text);
  const weights = options.map(({ label }) => {
    // The list itself names every label once; a label that occurs more often is what the input speaks of.
    const mentions = input.split(label.toLowerCase()).length - 1;
    return (1 + mentions) ** 3 * (1 + (hashText(`${input}\n${label}`, seed) % 100) / 400);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return sorted(
    options.map(({ token }, index) => ({ token, probability: (0.98 * (weights[index] ?? 0)) / total })),
  );
}

/** Most likely first; labels that begin with the same token are one candidate. */
function sorted(candidates: readonly Candidate[]): Candidate[] {
  const byToken = new Map<string, number>();
  for (const { token, probability } of candidates) {
    byToken.set(token, (byToken.get(token) ?? 0) + probability);
  }
  return [...byToken]
    .map(([token, probability]) => ({ token, probability }))
    .toSorted((a, b) => b.probability - a.probability);
}

function optionsIn(text: string): Option[] {
  const lines = [...text.matchAll(listed)].map((match) => {
    const label = (match[2] ?? '').trim();
    return { label, token: match[1] ?? firstToken(label) };
  });
  if (lines.length >= 2) return lines;
  const named = (enumerated.exec(text)?.[1] ?? '')
    .split(/,|\bor\b|\|/)
    .map((label) => label.replaceAll(/["'`[\]]/g, '').trim())
    .filter(Boolean);
  const labels = named.length >= 2 ? named : ['yes', 'no', 'maybe'];
  return labels.map((label) => ({ label, token: firstToken(label) }));
}

function firstToken(label: string): string {
  return tokenize(label)[0] ?? label;
}
