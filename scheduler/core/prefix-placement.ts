/** How much of a turn's prompt a replica has probably cached, as far as earlier turns there tell (rule 9). */
import { maxPrefixBlocks, prefixBlockTokens } from './limits.ts';
import type { Replica, Turn } from './state.ts';

export function matchedTokens({ spec }: Pick<Turn, 'spec'>, replica: Replica): number {
  return replica.prefixes.matchedBlocks(spec.prefix) * prefixBlockTokens;
}

/** The share of the prompt's known blocks that are there; 0 when none is known. */
export function matchedShare({ spec }: Pick<Turn, 'spec'>, replica: Replica): number {
  const { prefix } = spec;
  return prefix.length === 0 ? 0 : replica.prefixes.matchedBlocks(prefix) / prefix.length;
}

export function notePrefix(replica: Replica, { spec }: Pick<Turn, 'spec'>): void {
  if (spec.prefix.length > 0) replica.prefixes.use(spec.prefix, blocksOf(replica));
}

/** Blocks that fit the engine's memory, as far as that is known. */
function blocksOf({ capacity }: Replica): number {
  const tokens = capacity.reportedTokens ?? capacity.tokens;
  return Math.min(maxPrefixBlocks, Math.max(1, Math.floor(tokens / prefixBlockTokens)));
}
