/** States of trees of runs whose histories are kept: the tree's own, and those of its runs. */
import { treeWorkflowId } from '../../contracts/run-names.ts';
import type { RunState } from './recorder.ts';
import { count, directed, endless, hasEvent, haveEnded } from './state-words.ts';

/** Two children, one of which has ended; the other one has a child of its own. */
const treeOneChildDone: RunState = {
  name: 'tree-one-child-done',
  async reach({ spawn, until, ended }) {
    const task = directed({ calls: [endless], answer: 'never' });
    const root = await spawn('root', { task });
    const done = await spawn('child done', {
      task: directed({ calls: ['lookup'], answer: 'mine' }),
      parent: root,
    });
    const open = await spawn('child open', { task, parent: root });
    const leaf = await spawn('leaf', { task, parent: open });
    await ended(done);
    const tree = treeWorkflowId(root);
    await until(tree, hasEvent('EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED'));
    for (const run of [root, open, leaf]) await until(run, haveEnded(1));
    return Object.entries({ tree, root, 'child-done': done, 'child-open': open, leaf }).map(
      ([part, workflowId]) => ({ part, workflowId }),
    );
  },
};

/** An inner run was cancelled with what is below it; its sibling goes on. Then a spawn under it is refused. */
const treeSubtreeCancelled: RunState = {
  name: 'tree-subtree-cancelled',
  async reach({ mcp, spawn, ended, until }) {
    const task = directed({ calls: [endless], answer: 'never' });
    const root = await spawn('root of cancelled', { task });
    const inner = await spawn('inner', { task, parent: root });
    const leaf = await spawn('leaf of inner', { task, parent: inner });
    const sibling = await spawn('sibling', { task, parent: root });
    for (const run of [root, inner, leaf, sibling]) await until(run, haveEnded(1));
    await mcp.call('cancel', { handle: inner, reason: 'this branch is not needed' });
    await ended(inner, leaf);
    await spawn('too late', { task, parent: inner }).catch(() => undefined);
    const tree = treeWorkflowId(root);
    await until(tree, (events) => count(events, 'EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED') === 2);
    return Object.entries({ tree, inner, leaf, sibling }).map(([part, workflowId]) => ({ part, workflowId }));
  },
};

/** A budget of a root binds its tree: its ledger has moved there, and a child works on what it is granted. */
const treeBudgetOpen: RunState = {
  name: 'tree-budget-open',
  async reach({ spawn, until }) {
    const task = directed({ calls: ['lookup', 'lookup', endless], answer: 'never' });
    const budget = { budgetTokens: 1_000_000, budgetToolCalls: 40, budgetSeconds: 86_400 };
    const root = await spawn('root of budget open', { task, ...budget });
    await until(root, haveEnded(5));
    const child = await spawn('child of budget open', { task, parent: root });
    await until(child, haveEnded(5));
    const tree = treeWorkflowId(root);
    return Object.entries({ tree, root, child }).map(([part, workflowId]) => ({ part, workflowId }));
  },
};

/** A child uses up what its root and all below it may spend: all of them end. */
const treeBudgetExceeded: RunState = {
  name: 'tree-budget-exceeded',
  async reach({ spawn, until, ended }) {
    const root = await spawn('root of budget exceeded', {
      task: directed({ calls: [endless], answer: 'never' }),
      budgetToolCalls: 6,
    });
    await until(root, haveEnded(1));
    const task = directed({ calls: ['lookup'], repeat: 20, answer: 'never' });
    const child = await spawn('child of budget exceeded', { task, maxToolCalls: 20, parent: root });
    await ended(root, child);
    const tree = treeWorkflowId(root);
    await until(tree, hasEvent('EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED'));
    return Object.entries({ tree, root, child }).map(([part, workflowId]) => ({ part, workflowId }));
  },
};

export const treeStates: readonly RunState[] = [
  treeOneChildDone,
  treeSubtreeCancelled,
  treeBudgetOpen,
  treeBudgetExceeded,
];
