/**
 * Takes what the mcp-server asks of a tree. Spawns are worked off one message after the other, so that
 * the commands of one workflow task stay within Temporal's bound; a cancel never waits for them: it
 * closes the subtree at once, and what is being started below it is ended with it.
 */
import { condition } from '@temporalio/workflow';
import type { Handle } from '../../contracts/ids.ts';
import type { CancelAnswer, CancelSubtree, SpawnAnswer, SpawnChild } from '../../contracts/run-tree.ts';
import type { TreeChildren } from './children.ts';
import { judgeSpawn } from './judge-spawn.ts';
import type { RunEnds } from './run-ends.ts';
import { isAtWork, runOf, subtreeOf } from './tree-state.ts';

export class TreeDesk {
  readonly #children: TreeChildren;
  readonly #ends: RunEnds;
  #last: Promise<unknown> = Promise.resolve();

  constructor(children: TreeChildren, ends: RunEnds) {
    this.#children = children;
    this.#ends = ends;
  }

  /** @returns one answer a request, in their order. */
  async spawn(requests: readonly SpawnChild[]): Promise<readonly SpawnAnswer[]> {
    const turn = this.#last.then(async () => {
      await condition(() => this.#ends.rootKnown);
      await this.#children.budgets.ready();
      await this.#freePlaces(requests);
      return await Promise.all(requests.map((request) => this.#children.spawn(request)));
    });
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  cancel({ handle, reason }: CancelSubtree): CancelAnswer {
    const { tree } = this.#children;
    if (runOf(tree, handle) === null) return { known: false, reached: 0 };
    const reached = subtreeOf(tree, handle).filter((below) => below !== tree.root && this.#atWork(below));
    this.#children.close(handle, { kind: 'cancel', reason });
    this.#ends.hurry();
    return { known: true, reached: reached.length };
  }

  #atWork(handle: Handle): boolean {
    const run = runOf(this.#children.tree, handle);
    return run !== null && isAtWork(run);
  }

  /** A place is not refused because nobody has looked yet whether its run has ended. */
  async #freePlaces(requests: readonly SpawnChild[]): Promise<void> {
    const full = requests.some((request) => {
      const judgement = judgeSpawn(this.#children.tree, request);
      return judgement.kind === 'refused' && judgement.why === 'caller-full';
    });
    if (full) await this.#ends.lookNow();
  }
}
