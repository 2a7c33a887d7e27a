import { describe, expect, it } from 'vitest';
import { growthOf, type Execution } from '../../../bench/long-runs/chain.ts';

/** Executions of a hundred turns, each of which hands its transcript to the next. */
function chainOf(turnBytes: readonly number[], transcriptBytes: number): readonly Execution[] {
  return turnBytes.map((bytes, index) => {
    const inputBytes = index * transcriptBytes;
    const handedOnBytes = index === turnBytes.length - 1 ? 0 : (index + 1) * transcriptBytes;
    return {
      turns: 100,
      historyBytes: 100 * bytes + inputBytes + handedOnBytes,
      inputBytes,
      handedOnBytes,
      events: 1_300,
      failedTasks: 0,
    };
  });
}

describe('the growth of histories', () => {
  it('is none where each turn adds the same, whatever is handed over', () => {
    const growth = growthOf(chainOf([3_000, 3_000, 3_000, 3_000], 50_000));
    expect(growth).toMatchObject({ perTurn: 1, bytesPerTurn: 3_000 });
    expect(growth.perTurnWithHandOver).toBeGreaterThan(1.1);
  });

  it('shows where later turns add more', () => {
    expect(growthOf(chainOf([3_000, 3_000, 4_500, 4_500], 50_000)).perTurn).toBe(1.5);
  });

  it('cannot be told of one execution', () => {
    expect(growthOf(chainOf([3_000], 0)).perTurn).toBeNull();
  });
});
