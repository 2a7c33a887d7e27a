/** Properties of the ledger, the prefix map and the pause statistics, from random operations. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ledger, type Context } from '../../../scheduler/core/ledger.ts';
import { maxToolNames, prefixBlockTokens } from '../../../scheduler/core/limits.ts';
import {
  isSlow,
  notePause,
  upperPauseMs,
  type PauseStatistics,
} from '../../../scheduler/core/pause-statistics.ts';
import { PrefixMap } from '../../../scheduler/core/prefix-map.ts';

/** Rolling hashes: the path from the root of a small tree, so that beginnings are shared. */
const prefix = fc
  .array(fc.constantFrom('a', 'b'), { maxLength: 8 })
  .map((path) => path.map((_step, index) => path.slice(0, index + 1).join('')));
const context: fc.Arbitrary<Context> = fc.record({ tokens: fc.integer({ min: 0, max: 4_000 }), prefix });

function tokensOf(contexts: readonly Context[]): number {
  const blocks = new Set<string>();
  let own = 0;
  for (const { tokens, prefix: path } of contexts) {
    const whole = path.slice(0, Math.floor(tokens / prefixBlockTokens));
    own += tokens - whole.length * prefixBlockTokens;
    for (const block of whole) blocks.add(block);
  }
  return own + blocks.size * prefixBlockTokens;
}

describe('a ledger', () => {
  it('sums its contexts with each shared block once, whatever came and went', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(), context), { maxLength: 60 }), (operations) => {
        const ledger = new Ledger();
        const live: Context[] = [];
        for (const [removes, place, added] of operations) {
          const predicted = ledger.addedTokens(added);
          expect(predicted).toBe(tokensOf([...live, added]) - tokensOf(live));
          if (removes && live.length > 0) {
            const [gone] = live.splice(place % live.length, 1);
            if (gone !== undefined) ledger.remove(gone);
          } else {
            ledger.add(added);
            live.push(added);
          }
          expect(ledger.tokens).toBe(tokensOf(live));
          expect(ledger.contexts).toBe(live.length);
        }
        for (const left of live) ledger.remove(left);
        expect([ledger.tokens, ledger.contexts, ledger.meanTokens]).toEqual([0, 0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a prefix map', () => {
  it('knows the last prefix whole and no more blocks than fit, and loses ends before beginnings', () => {
    fc.assert(
      fc.property(fc.array(prefix, { maxLength: 40 }), fc.integer({ min: 8, max: 20 }), (prefixes, most) => {
        const map = new PrefixMap();
        for (const path of prefixes) {
          map.use(path, most);
          expect(map.size).toBeLessThanOrEqual(most);
          expect(map.matchedBlocks(path)).toBe(path.length);
        }
        for (const path of prefixes) {
          const matched = map.matchedBlocks(path);
          for (let blocks = 1; blocks <= path.length; blocks += 1) {
            expect(map.matchedBlocks(path.slice(0, blocks))).toBe(Math.min(blocks, matched));
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('pause statistics', () => {
  it('call a tool slow exactly when more than a quarter of its last pauses were above 30 s', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 4, maxLength: 60 }), (longOnes) => {
        const statistics: PauseStatistics = new Map();
        for (const long of longOnes) notePause(statistics, ['tool'], long ? 40_000 : 1_000);
        const share = longOnes.filter(Boolean).length / longOnes.length;
        expect(isSlow(statistics, ['tool'])).toBe(share > 0.25);
      }),
    );
  });

  it('follow a tool that has become quick', () => {
    const statistics: PauseStatistics = new Map();
    for (let pause = 0; pause < 1_000; pause += 1) notePause(statistics, ['tool'], 60_000);
    expect(isSlow(statistics, ['tool'])).toBe(true);
    for (let pause = 0; pause < 200; pause += 1) notePause(statistics, ['tool'], 1_000);
    expect(isSlow(statistics, ['tool'])).toBe(false);
  });

  it('blame the slowest known tool of a reply that called several', () => {
    const statistics: PauseStatistics = new Map();
    for (let pause = 0; pause < 8; pause += 1) {
      notePause(statistics, ['quick'], 500);
      notePause(statistics, ['slow'], 50_000);
    }
    for (let pause = 0; pause < 50; pause += 1) notePause(statistics, ['quick', 'slow'], 50_000);
    expect(upperPauseMs(statistics, 'quick')).toBe(500);
    expect(isSlow(statistics, ['quick', 'slow'])).toBe(true);
  });

  it('remember a bounded number of names, the ones used last', () => {
    const statistics: PauseStatistics = new Map();
    for (let name = 0; name < maxToolNames + 50; name += 1) notePause(statistics, [`tool${name}`], 1);
    expect(statistics.size).toBe(maxToolNames);
    expect(statistics.has('tool0')).toBe(false);
  });
});
