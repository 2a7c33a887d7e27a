import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { turnTokens, undecidedReplyTokens } from '../../../workflows/budget/prompt-estimate.ts';

const first = { transcriptBytes: 300, toolsBytes: 600, measured: null, maxTokens: 256 };

describe('the tokens that are reserved for a turn', () => {
  it('are those of its prompt, by its size, and the most that it may reply', () => {
    expect(turnTokens(first)).toBe(300 + 256);
    expect(turnTokens({ ...first, maxTokens: 0 })).toBe(300 + undecidedReplyTokens);
  });

  it('follow the real size of the prompt before, whatever the estimate of it was', () => {
    const measured = { bytes: 300, tokens: 1_000 };
    expect(turnTokens({ ...first, measured })).toBe(1_000 + 256);
    expect(turnTokens({ ...first, measured, transcriptBytes: 330 })).toBe(1_010 + 256);
    expect(turnTokens({ ...first, measured, transcriptBytes: 150 })).toBe(500 + 256);
  });

  it('never shrink when the transcript grows', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 2_000_000 }),
        fc.nat({ max: 100_000 }),
        fc.option(fc.record({ bytes: fc.nat({ max: 2_000_000 }), tokens: fc.nat({ max: 500_000 }) })),
        (bytes, more, measured) => {
          const size = { toolsBytes: 0, maxTokens: 100, measured };
          expect(turnTokens({ ...size, transcriptBytes: bytes + more })).toBeGreaterThanOrEqual(
            turnTokens({ ...size, transcriptBytes: bytes }),
          );
        },
      ),
    );
  });
});
