/**
 * A stand-in tokenizer (about four characters a token) and the hash chain over blocks of tokens that the
 * prefix cache is keyed by. The pieces of a text joined give the text back, so a piece is also what a
 * stream sends for one token.
 */
import { hashText } from './random.ts';

/** Tokens in a block of KV memory. */
export const blockTokens = 16;

/** Splits `text` into the pieces that count as one token each. */
export function tokenize(text: string): string[] {
  return text.match(/\s*[\p{L}\p{N}_]{1,6}|\s*[^\s\p{L}\p{N}_]|\s+/gu) ?? [];
}

export function tokenIds(text: string): number[] {
  return tokenize(text).map((piece) => hashText(piece));
}

/**
 * One hash for each full block of `tokens`, each covering everything before it: equal hashes mean equal
 * prefixes. 53 bits, so that a collision is no concern within a simulation.
 */
export function blockHashes(tokens: readonly number[]): number[] {
  const hashes: number[] = [];
  let low = 0x2545f491;
  let high = 0x9e3779b9;
  const full = Math.floor(tokens.length / blockTokens) * blockTokens;
  for (let index = 0; index < full; index += 1) {
    const token = tokens[index] ?? 0;
    low = Math.imul(low ^ token, 0x01000193) ^ (high >>> 15);
    high = Math.imul(high + token, 0x85ebca6b) ^ (low >>> 13);
    if ((index + 1) % blockTokens === 0) hashes.push((high >>> 11) * 0x1_0000_0000 + (low >>> 0));
  }
  return hashes;
}
