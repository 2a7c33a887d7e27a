import { describe, expect, it } from 'vitest';
import { ProgressWords } from './progress-words.ts';

describe('what a screen shows of a wait', () => {
  it('is each line with words of our reports, once, whatever stands around them', () => {
    const words = new ProgressWords();
    for (const line of [
      '⎿  0 of 2 ended; run_a: tools: wait (11%)',
      '│ 1 of 2 ended │',
      '│ 1 of 2 ended │',
    ]) {
      words.look(['❯ Wait.', line, ''], true);
    }
    expect(words.ours).toEqual(['⎿  0 of 2 ended; run_a: tools: wait (11%)', '│ 1 of 2 ended │']);
  });

  it('is the screen while the await is under way, not what comes after it', () => {
    const words = new ProgressWords();
    words.look(['Calling await', '', '(36 s)'], true);
    words.look(['2 of 2 ended'], false);
    expect(words.lastScreen).toEqual(['Calling await', '(36 s)']);
    expect(words.ours).toEqual([]);
  });
});
