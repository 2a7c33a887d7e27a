/**
 * Cache-aware routing as SGLang's router publishes it (`--policy cache_aware`), with its default numbers:
 * when the loads differ by more than 64 turns and by more than the factor 1.5, the replica with the fewest
 * turns in flight; else the replica that has seen the longest part of the prompt, if that is more than 0.3 of
 * it; else the one that remembers least. It keeps text in a radix tree, here blocks of 1 KiB stand for it; its
 * trees hold 2^26 characters, here as many blocks. No admission control: the engine queues.
 */
import type { ArmKind } from './arm.ts';
import { PrefixMap } from './prefix-map.ts';
import { sendAtOnce, smallest } from './send-at-once.ts';

const cacheThreshold = 0.3;
const balanceAbsolute = 64;
const balanceRelative = 1.5;
const treeBlocks = 65_536;

export const cacheAware: ArmKind = {
  name: 'cache-aware',
  about: "longest known prefix, fewest in flight when unbalanced (after SGLang's router)",
  create({ replicas }) {
    const prefixes = new PrefixMap(replicas, treeBlocks);
    const all = Array.from({ length: replicas }, (_, replica) => replica);
    return sendAtOnce(replicas, {
      choose(turn, inFlight) {
        const replica = chooseCacheAware(turn.prefix, inFlight, prefixes, all);
        prefixes.remember(turn.prefix, replica);
        return replica;
      },
    });
  },
};

function chooseCacheAware(
  prefix: readonly string[],
  inFlight: readonly number[],
  prefixes: PrefixMap,
  all: readonly number[],
): number {
  const most = Math.max(...inFlight);
  const fewest = Math.min(...inFlight);
  if (most - fewest > balanceAbsolute && most > fewest * balanceRelative) return smallest(inFlight);
  const shares = all.map((replica) => prefixes.share(prefix, replica));
  const best = smallest(shares.map((share) => -share));
  if ((shares[best] ?? 0) > cacheThreshold) return best;
  return smallest(all.map((replica) => prefixes.size(replica)));
}
