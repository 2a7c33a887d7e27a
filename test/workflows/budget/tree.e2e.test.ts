import { afterAll, beforeAll, describe, expect, inject, it, onTestFailed } from 'vitest';
import type { Handle } from '../../../contracts/ids.ts';
import type { BudgetLimits, RunMemo } from '../../../contracts/run.ts';
import { runInputSchema, runMemoKey, runMemoSchema, workflowTypes } from '../../../contracts/run.ts';
import type { RunTreeInput } from '../../../contracts/run-tree.ts';
import { initialMemo } from '../../../mcp-server/runs/spawn-request.ts';
import { chunk, type FakeRequest } from '../../activities/fake-model.ts';
import { newHandle, startRunStack, type RunStack } from '../run-stack.ts';
import { openTree, type TestTree } from '../tree-stack.ts';
import { startWorkerProcess } from '../worker-process.ts';

/** What a task tells the model to do with every request; a task names one. */
const manners: Readonly<Record<string, (request: FakeRequest) => void>> = {
  // Looks something up for ever: 110 tokens a turn.
  'look on': (request) => {
    request.write(chunk({ content: 'so far' }));
    request.call([
      { id: `c${request.body.messages.length}`, name: 'kit__lookup', arguments: { topic: 'a' } },
    ]);
  },
  'look twice': (request) => {
    const id = request.body.messages.length;
    request.call([
      { id: `a${id}`, name: 'kit__lookup', arguments: { topic: 'a' } },
      { id: `b${id}`, name: 'kit__lookup', arguments: { topic: 'b' } },
    ]);
  },
  // Replies with far more than it was allowed: 700 tokens a turn.
  'talk on': (request) => {
    const call = { id: `c${request.body.messages.length}`, type: 'function', index: 0 };
    const made = { name: 'kit__lookup', arguments: '{"topic":"a"}' };
    request.write(
      chunk({ content: 'so far', tool_calls: [{ ...call, function: made }] }),
      chunk({}, 'tool_calls'),
      `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 100, completion_tokens: 600 } })}\n\n`,
      'data: [DONE]\n\n',
    );
    request.end();
  },
  // Waits inside a tool call, as one does that awaits the runs below it.
  wait: (request) => request.call([{ name: 'kit__wait', arguments: { milliseconds: 600_000 } }]),
  answer: (request) => request.say('done'),
  'say nothing': (request) => request.write(chunk({ content: 'I beg' })),
};

const behave = (request: FakeRequest): void => {
  const task = request.body.messages.find((message) => message['role'] === 'user')?.['content'];
  manners[String(task)]?.(request);
};

let stack: RunStack;
beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: behave,
  });
});
afterAll(async () => await stack?.close());

const busy = { tools: ['kit__lookup', 'kit__wait'], maxToolCalls: 10_000, maxTokens: 20 };

interface Family {
  readonly root: string;
  readonly tree: TestTree;
  memo(handle: string): Promise<RunMemo>;
  ended(handle: string): Promise<RunMemo>;
  spawn(parent: string, tasks: readonly string[], budget?: BudgetLimits): Promise<string[]>;
  /** The ledger of an owner, once all below it has ended and is known. */
  settled(
    owner: string,
  ): Promise<NonNullable<Awaited<ReturnType<TestTree['state']>>['budgets']['owners'][string]>>;
}

async function rooted(
  task: string,
  budget: BudgetLimits,
  on: RunStack = stack,
  over: Partial<RunTreeInput> = {},
): Promise<Family> {
  const root = newHandle();
  const input = runInputSchema.parse({ task, budget, caller: 'tests', ...busy });
  // With the memo that the mcp-server gives it, by which the tree knows of its budget.
  await on.client.workflow.start(workflowTypes.agentRun, {
    taskQueue: on.taskQueue,
    workflowId: root,
    args: [input],
    memo: { [runMemoKey]: initialMemo(input, root as Handle) },
  });
  const tree = openTree(on.client, on.taskQueue, root, over);
  onTestFailed(async () => console.log(JSON.stringify(await tree.state(), null, 1)));
  const memo = async (handle: string) =>
    runMemoSchema.parse((await on.client.workflow.getHandle(handle).describe()).memo?.[runMemoKey]);
  return {
    root,
    tree,
    memo,
    async ended(handle) {
      await on.client.workflow
        .getHandle(handle)
        .result()
        .catch(() => undefined);
      return await memo(handle);
    },
    async spawn(parent, tasks, limits) {
      const more = limits === undefined ? busy : { ...busy, budget: limits };
      const started = await tree.spawnAll(tasks.map((one) => ({ parent, input: { task: one, ...more } })));
      for (const { answer } of started) expect(answer).toEqual({ kind: 'started' });
      return started.map(({ handle }) => handle);
    },
    async settled(owner) {
      for (let tries = 0; tries < 200; tries += 1) {
        const { budgets } = await tree.state();
        const open = Object.values(budgets.members).filter(
          (member) => member.owners.includes(owner) && member.state !== 'ended',
        );
        const ledger = budgets.owners[owner];
        if (ledger !== undefined && open.length === 0) return ledger;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`not settled: ${JSON.stringify((await tree.state()).budgets)}`);
    },
  };
}

const tokensOf = ({ counters }: RunMemo): number => counters.promptTokens + counters.completionTokens;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

describe('a budget of tokens over eight children at once', () => {
  it('ends them all at its limit, and adds up to what each of them has used', async () => {
    const family = await rooted('wait', { tokens: 6_000 });
    const children = await family.spawn(family.root, Array<string>(8).fill('look on'));
    const rootMemo = await family.ended(family.root);
    const memos = await Promise.all(children.map(async (child) => await family.ended(child)));
    const ledger = await family.settled(family.root);
    expect(rootMemo.reason).toMatch(/^budget exceeded: tokens \d+\/6000/);
    expect(rootMemo).toMatchObject({ status: 'Cancelled', budget: { exceeded: 'tokens', isShared: true } });
    for (const memo of memos) {
      expect(memo.status).toBe('Cancelled');
      expect(memo.reason).toMatch(
        new RegExp(`^cancelled with its parent ${family.root}: budget exceeded: tokens \\d+/6000`),
      );
      expect(memo.partial).toBe('so far');
    }
    expect(ledger.granted).toEqual({ tokens: 0, toolCalls: 0 });
    expect(ledger.used.tokens).toBe(sum([rootMemo, ...memos].map(tokensOf)));
    expect(ledger.used.tokens).toBeLessThanOrEqual(6_000);
    // Not far below the limit either: what one held and did not need, others got.
    expect(ledger.used.tokens).toBeGreaterThan(4_000);
    const [late] = await family.tree.spawnAll([{ parent: children[0] ?? '', input: { task: 'answer' } }]);
    expect(late?.answer).toMatchObject({
      kind: 'refused',
      why: 'budget',
      message: expect.stringContaining('budget exceeded: tokens'),
    });
  });

  it('is overshot by at most one reply each when replies are larger than they may be', async () => {
    const family = await rooted('wait', { tokens: 6_000 });
    const children = await family.spawn(family.root, Array<string>(8).fill('talk on'));
    const rootMemo = await family.ended(family.root);
    const memos = await Promise.all(children.map(async (child) => await family.ended(child)));
    const ledger = await family.settled(family.root);
    expect(rootMemo.reason).toMatch(/^budget exceeded: tokens \d+\/6000/);
    expect(ledger.used.tokens).toBe(sum([rootMemo, ...memos].map(tokensOf)));
    expect(ledger.used.tokens).toBeLessThanOrEqual(6_000 + 8 * 700);
  });
});

describe('a budget of tool calls over several children', () => {
  it('is never exceeded, not by one call', async () => {
    const before = stack.tools.calls().tools['lookup']?.started ?? 0;
    const family = await rooted('wait', { toolCalls: 11 });
    const children = await family.spawn(family.root, Array<string>(4).fill('look twice'));
    const rootMemo = await family.ended(family.root);
    await Promise.all(children.map(async (child) => await family.ended(child)));
    const ledger = await family.settled(family.root);
    expect(rootMemo.reason).toMatch(/^budget exceeded: toolCalls \d+\/11/);
    // The root waits in one.
    expect(ledger.used.toolCalls).toBe(11);
    expect((stack.tools.calls().tools['lookup']?.started ?? 0) - before).toBeLessThanOrEqual(10);
  });
});

describe('a budget of seconds of a tree', () => {
  it('ends the whole tree while nothing happens in it', async () => {
    const family = await rooted('say nothing', { seconds: 4 });
    const [child = ''] = await family.spawn(family.root, ['say nothing']);
    const [grandchild = ''] = await family.spawn(child, ['say nothing']);
    const memos = await Promise.all([family.root, child, grandchild].map(family.ended));
    expect(memos.map(({ status }) => status)).toEqual(['Cancelled', 'Cancelled', 'Cancelled']);
    expect(memos[0]?.reason).toBe('budget exceeded: seconds 4/4');
    expect(memos[2]?.reason).toBe(`cancelled with its ancestor ${family.root}: budget exceeded: seconds 4/4`);
  });

  it('goes on when its run has ended, and ends what was started below it', async () => {
    const family = await rooted('answer', { seconds: 6 });
    expect(await family.ended(family.root)).toMatchObject({ status: 'Completed' });
    const [child = ''] = await family.spawn(family.root, ['say nothing']);
    expect((await family.ended(child)).reason).toBe(
      `cancelled with its parent ${family.root}: budget exceeded: seconds 6/6`,
    );
    const [late] = await family.tree.spawnAll([{ parent: family.root, input: { task: 'answer' } }]);
    expect(late?.answer).toMatchObject({ kind: 'refused', why: 'budget' });
  });

  it('of a run inside it ends that run and what is below it only', async () => {
    const family = await rooted('say nothing', { tokens: 1_000_000 });
    const [inner = ''] = await family.spawn(family.root, ['say nothing'], { seconds: 2 });
    const [beside = ''] = await family.spawn(family.root, ['say nothing']);
    const [below = ''] = await family.spawn(inner, ['say nothing']);
    expect((await family.ended(inner)).budget).toMatchObject({ exceeded: 'seconds' });
    expect((await family.ended(below)).reason).toContain('budget exceeded: seconds 2/2');
    expect(await family.memo(beside)).toMatchObject({ status: 'Running' });
    await family.tree.cancel(family.root);
    await family.ended(beside);
  });
});

describe('nested budgets', () => {
  it('bind together: the inner one ends its own subtree, and all of it counts for the outer one', async () => {
    const family = await rooted('wait', { tokens: 50_000 });
    const [inner = ''] = await family.spawn(family.root, ['look on'], { tokens: 2_500 });
    const [below = ''] = await family.spawn(inner, ['look on']);
    const [beside = ''] = await family.spawn(family.root, ['say nothing']);
    const memos = await Promise.all([inner, below].map(family.ended));
    const ledger = await family.settled(inner);
    expect(memos[0]?.reason).toMatch(/^budget exceeded: tokens \d+\/2500/);
    expect(ledger.used.tokens).toBe(sum(memos.map(tokensOf)));
    expect(ledger.used.tokens).toBeLessThanOrEqual(2_500);
    const { budgets } = await family.tree.state();
    // The root and the run beside may have had turns of their own by now.
    const own = [family.root, beside].map((run) => budgets.members[run]?.used.tokens ?? 0);
    expect(budgets.owners[family.root]).toMatchObject({
      exceeded: null,
      used: { tokens: ledger.used.tokens + sum(own) },
    });
    expect(await family.memo(beside)).toMatchObject({ status: 'Running' });
    const [late] = await family.tree.spawnAll([{ parent: inner, input: { task: 'answer' } }]);
    expect(late?.answer).toMatchObject({ kind: 'refused', why: 'budget' });
    await family.tree.cancel(family.root);
    await Promise.all([family.root, beside].map(family.ended));
  });
});

describe('the ledger of a lone run that gets a child', () => {
  it('moves to the tree with what is used and reserved, while the run goes on', async () => {
    const family = await rooted('look on', { tokens: 5_000 });
    await stack.model.waitForRequests(stack.model.requests.length + 3);
    const [child = ''] = await family.spawn(family.root, ['look on']);
    const memos = await Promise.all([family.root, child].map(family.ended));
    const ledger = await family.settled(family.root);
    expect(ledger.used.tokens).toBe(sum(memos.map(tokensOf)));
    expect(ledger.used.tokens).toBeLessThanOrEqual(5_000);
    expect(memos.map(({ counters }) => counters.turns > 2)).toEqual([true, true]);
  });

  it('is found when the run has ended before, and binds what is started below it', async () => {
    const family = await rooted('answer', { tokens: 1_500 });
    expect(await family.ended(family.root)).toMatchObject({ status: 'Completed' });
    const [child = ''] = await family.spawn(family.root, ['look on']);
    const memo = await family.ended(child);
    expect(memo.reason).toMatch(/budget exceeded: tokens \d+\/1500/);
    const ledger = await family.settled(family.root);
    expect(ledger.used.tokens).toBe(110 + tokensOf(memo));
    expect(ledger).toMatchObject({ exceeded: 'tokens' });
    expect(await family.memo(family.root)).toMatchObject({ status: 'Completed' });
  });

  it('refuses a child when the run has ended by it', async () => {
    const family = await rooted('look on', { toolCalls: 2 });
    await family.ended(family.root);
    const [late] = await family.tree.spawnAll([{ parent: family.root, input: { task: 'answer' } }]);
    expect(late?.answer).toMatchObject({ kind: 'refused', why: 'budget' });
  });
});

describe('budgets of a tree', () => {
  it('let a run that waits for its user give back what it holds', async () => {
    const family = await rooted('wait', { tokens: 4_000 });
    const asking = { ...busy, task: 'look on', approveTools: ['kit__lookup'] };
    const [idle] = await family.tree.spawnAll([{ parent: family.root, input: asking }]);
    await expect
      .poll(async () => (await family.memo(idle?.handle ?? '')).pendingApprovals.length, { timeout: 60_000 })
      .toBe(1);
    await expect
      .poll(async () => (await family.tree.state()).budgets.members[idle?.handle ?? '']?.granted, {
        timeout: 60_000,
      })
      .toEqual({ tokens: 0, toolCalls: 0 });
    await family.tree.cancel(family.root);
    await family.ended(family.root);
  });

  it('go on over a continue-as-new of the tree', async () => {
    const family = await rooted('wait', { tokens: 5_000 }, stack, { continueAfterEvents: 40 });
    const children = await family.spawn(family.root, Array<string>(3).fill('look on'));
    const memos = await Promise.all([family.root, ...children].map(family.ended));
    const ledger = await family.settled(family.root);
    expect(ledger.used.tokens).toBe(sum(memos.map(tokensOf)));
    expect(ledger.used.tokens).toBeLessThanOrEqual(5_000);
    const { runId } = await stack.client.workflow.getHandle(family.tree.id).describe();
    const first = stack.client.workflow.list({ query: `WorkflowId = '${family.tree.id}'` });
    const executions: string[] = [];
    for await (const execution of first) executions.push(execution.runId);
    expect(executions.filter((one) => one !== runId).length).toBeGreaterThan(0);
  });

  it('hold after the worker of all of it was killed in the middle', async () => {
    const own = await startRunStack({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
      script: behave,
      startWorker: false,
    });
    try {
      const doomed = await startWorkerProcess(own.workerConfig);
      const family = await rooted('wait', { tokens: 8_000 }, own);
      const children = await family.spawn(family.root, Array<string>(4).fill('look on'));
      await own.model.waitForRequests(10);
      await doomed.kill();
      await own.newWorker();
      const memos = await Promise.all([family.root, ...children].map(family.ended));
      const ledger = await family.settled(family.root);
      expect(memos[0]?.reason).toMatch(/^budget exceeded: tokens \d+\/8000/);
      expect(ledger.used.tokens).toBe(sum(memos.map(tokensOf)));
      expect(ledger.used.tokens).toBeLessThanOrEqual(8_000);
    } finally {
      await own.close();
    }
  });
});
