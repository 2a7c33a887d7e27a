import { describe, expect, it } from 'vitest';
import { zeroCounters } from '../../contracts/run.ts';
import { nodesOf } from '../../mcp-server/runs/tree-of-runs.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';
import { handleOf, madeRun } from './made-run.ts';

function child(name: string, parent: string, atMs: number, over: Partial<RunView> = {}): RunView {
  return madeRun(name, {
    root: handleOf('top'),
    parent: handleOf(parent),
    startedAt: new Date(atMs).toISOString(),
    counters: { ...zeroCounters, turns: 1 },
    ...over,
  });
}

function shown(runs: readonly RunView[]) {
  return nodesOf(runs, handleOf('top')).map(({ run, depth, subtree }) => [
    run.handle.replace(/^run_0+/, ''),
    depth,
    subtree.runs,
    subtree.atWork,
    subtree.counters.turns,
  ]);
}

const top = madeRun('top', { startedAt: new Date(0).toISOString(), counters: { ...zeroCounters, turns: 5 } });

describe('a tree of runs', () => {
  it('has parents before children, children by their start, and totals of each subtree', () => {
    const runs = [
      child('late', 'top', 30),
      child('deep', 'mid', 20, { status: 'Completed' }),
      child('mid', 'top', 10),
      top,
    ];
    expect(shown(runs)).toEqual([
      ['top', 1, 4, 3, 8],
      ['mid', 2, 2, 1, 2],
      ['late', 2, 1, 1, 1],
      ['deep', 3, 1, 0, 1],
    ]);
    expect(shown(runs.toReversed())).toEqual(shown(runs));
  });

  it('keeps a run whose parent is not listed yet, below the root', () => {
    expect(shown([child('orphan', 'nowhere', 10), top])).toEqual([
      ['top', 1, 2, 2, 6],
      ['orphan', 2, 1, 1, 1],
    ]);
  });

  it('has the others when the root itself is not listed', () => {
    expect(shown([child('mid', 'top', 10)])).toHaveLength(1);
  });

  it('is made of a thousand runs in one line below each other', () => {
    const chain = Array.from({ length: 999 }, (_, index) =>
      child(`c${index}`, index === 0 ? 'top' : `c${index - 1}`, index),
    );
    const nodes = nodesOf([...chain, top], handleOf('top'));
    expect(nodes).toHaveLength(1_000);
    expect(nodes[0]?.subtree.runs).toBe(1_000);
    expect(nodes.at(-1)?.depth).toBe(1_000);
  });
});
