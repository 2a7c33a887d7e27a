/** Random interleavings of spawns, starts, ends and cancels, against the rules that always hold. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Handle } from '../../../contracts/ids.ts';
import { maxTreeDepth } from '../../../contracts/run-names.ts';
import { runInputSchema, zeroCounters } from '../../../contracts/run.ts';
import { treeStateSchema, type SpawnChild, type TreeState } from '../../../contracts/run-tree.ts';
import { judgeSpawn } from '../../../workflows/run-tree/judge-spawn.ts';
import { stepTree, type TreeEvent } from '../../../workflows/run-tree/tree-step.ts';
import { closedAt, isAtWork, newTree, pathToRoot, runOf } from '../../../workflows/run-tree/tree-state.ts';

const handleOf = (index: number): Handle => `run_${String(index).padStart(22, '0')}` as Handle;
const root = handleOf(0);

type Move =
  | { readonly kind: 'spawn'; readonly under: number; readonly caller: number }
  | { readonly kind: 'started' | 'start-failed'; readonly pick: number }
  | { readonly kind: 'ended'; readonly pick: number; readonly status: 'Completed' | 'Failed' | 'Cancelled' }
  | { readonly kind: 'cancel'; readonly pick: number };

const pick = fc.nat(1_000);
const moves = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('spawn' as const), under: pick, caller: fc.nat(2) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom('started' as const, 'started' as const, 'start-failed' as const),
        pick,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('ended' as const),
        pick,
        status: fc.constantFrom('Completed' as const, 'Failed' as const, 'Cancelled' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), pick }) },
  ),
  { maxLength: 120 },
);

const maxRunning = 12;

function wish(index: number, parent: Handle, caller: number): SpawnChild {
  const input = runInputSchema.parse({ task: 'x', caller: `caller-${caller}` });
  return { handle: handleOf(index), parent, requestHash: `hash-${index}`, maxRunning, input };
}

/** Plays the moves on the tree, and notes what was asked to end and what broke a rule. */
class Play {
  tree: TreeState = newTree(root);
  readonly asked = new Set<Handle>();
  readonly faults: string[] = [];
  #next = 1;

  apply(event: TreeEvent): void {
    const before = this.tree;
    const { tree, effects } = stepTree(before, event);
    this.tree = tree;
    for (const { top, runs } of effects) {
      const atWork = handlesOf(tree).filter(
        (handle) => pathToRoot(before, handle).includes(top) && isAtWork(tree.runs[handle] ?? absent),
      );
      const ending = runs.map(({ handle }) => handle);
      if (ending.toSorted().join() !== atWork.toSorted().join()) {
        this.faults.push(`ending ${top} asked ${ending.join()}, at work were ${atWork.join()}`);
      }
      for (const handle of ending) this.asked.add(handle);
    }
  }

  play(list: readonly Move[]): void {
    for (const move of list) {
      this.#move(move);
      this.faults.push(...faultsOf(this));
    }
  }

  #move(move: Move): void {
    const all = handlesOf(this.tree);
    switch (move.kind) {
      case 'spawn':
        this.#spawn(pickFrom(all, move.under) ?? root, move.caller);
        return;
      case 'cancel': {
        const handle = pickFrom(all, move.pick) ?? root;
        this.apply({ kind: 'close', handle, closed: { kind: 'cancel', reason: 'enough' } });
        return;
      }
      case 'started':
      case 'start-failed': {
        const handle = pickFrom(this.#inState('starting'), move.pick);
        if (handle === undefined) return;
        this.apply({ kind: move.kind === 'started' ? 'run-started' : 'start-failed', handle });
        return;
      }
      case 'ended': {
        const handle = pickFrom(this.#inState('running'), move.pick);
        if (handle === undefined) return;
        this.apply({ kind: 'run-ended', handle, status: move.status, counters: zeroCounters });
        return;
      }
    }
  }

  #inState(state: 'starting' | 'running'): Handle[] {
    return handlesOf(this.tree).filter((handle) => runOf(this.tree, handle)?.state === state);
  }

  #spawn(parent: Handle, caller: number): void {
    const request = wish(this.#next, parent, caller);
    const judgement = judgeSpawn(this.tree, request);
    const closed = closedAt(this.tree, parent) !== null;
    const expected = closed ? ['cancelled'] : ['start', 'too-deep', 'caller-full'];
    const got = judgement.kind === 'refused' ? judgement.why : judgement.kind;
    if (!expected.includes(got)) this.faults.push(`a spawn under ${parent} (closed: ${closed}) got ${got}`);
    if (judgement.kind !== 'start') return;
    this.apply({ kind: 'run-added', handle: request.handle, run: judgement.run });
    this.#next += 1;
    if (judgeSpawn(this.tree, request).kind !== 'existing') this.faults.push('a repeat is another run');
  }
}

const absent = { ...newTree(root).runs[root], state: 'ended' } as TreeState['runs'][Handle];

function handlesOf(tree: TreeState): Handle[] {
  return Object.keys(tree.runs) as Handle[];
}

function pickFrom(from: readonly Handle[], index: number): Handle | undefined {
  return from[index % from.length];
}

/** One line a broken rule. */
function faultsOf({ tree, asked }: Play): string[] {
  const faults: string[] = [];
  const perCaller = new Map<string, number>();
  for (const handle of handlesOf(tree)) {
    const run = runOf(tree, handle);
    const path = pathToRoot(tree, handle);
    if (run === null || path.at(-1) !== root) {
      faults.push(`${handle} has lost its tree`);
      continue;
    }
    if (run.depth !== path.length || run.depth > maxTreeDepth) faults.push(`${handle} at depth ${run.depth}`);
    const closed = closedAt(tree, handle) !== null;
    if (isAtWork(run) && closed && !asked.has(handle)) faults.push(`${handle} goes on under a cancel`);
    if (asked.has(handle) && !closed) faults.push(`${handle} was asked to end, though nothing above it was`);
    if (isAtWork(run) && run.caller !== null) {
      perCaller.set(run.caller, (perCaller.get(run.caller) ?? 0) + 1);
    }
  }
  for (const [caller, count] of perCaller) {
    if (count > maxRunning) faults.push(`${caller} has ${count} runs at work`);
  }
  return faults;
}

describe('a tree under random spawns, starts, ends and cancels', () => {
  it('ends exactly what is at work under a cancel, starts nothing there, and keeps its limits', () => {
    fc.assert(
      fc.property(moves, (list) => {
        const play = new Play();
        play.play(list);
        expect(play.faults).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('is the same value after it was carried over to another execution', () => {
    fc.assert(
      fc.property(moves, (list) => {
        const play = new Play();
        play.play(list);
        const carried = treeStateSchema.parse(JSON.parse(JSON.stringify(play.tree)));
        expect(carried).toEqual(play.tree);
        expect(Object.keys(carried.runs)).toEqual(Object.keys(play.tree.runs));
      }),
      { numRuns: 100 },
    );
  });
});
