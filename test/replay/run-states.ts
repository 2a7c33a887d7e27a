/** The states whose histories are kept: what a deploy may find runs in. */
import { approveSignal } from '../../contracts/run-names.ts';
import type { RecordingKit, RunState } from './recorder.ts';
import { directed, endless, haveEnded } from './state-words.ts';
import type { StoredEvent } from './stored-histories.ts';
import { treeStates } from './tree-states.ts';

const simple: RunState = {
  name: 'simple',
  async reach({ spawn, ended }) {
    const task = directed({ calls: ['lookup', 'lookup'], preface: 'Let me look.', answer: 'found' });
    const handle = await spawn('simple', { task, system: 'Be brief.' });
    await ended(handle);
    return [{ part: '', workflowId: handle }];
  },
};

const withoutTools: RunState = {
  name: 'without-tools',
  async reach({ spawn, ended }) {
    const handle = await spawn('without tools', {
      task: directed({ calls: [], answer: 'at once' }),
      tools: [],
    });
    await ended(handle);
    return [{ part: '', workflowId: handle }];
  },
};

const refusedCalls: RunState = {
  name: 'refused-calls',
  async reach({ spawn, ended }) {
    const calls = [{ tool: 'lookup', arguments: { topic: { no: 'text' } } }, { tool: 'nowhere' }, 'fail'];
    const task = directed({ calls, answer: 'gave up' });
    const handle = await spawn('refused calls', { task, maxToolCalls: 3 });
    await ended(handle);
    return [{ part: '', workflowId: handle }];
  },
};

const turnInFlight: RunState = {
  name: 'turn-in-flight',
  async reach({ stack, spawn, until }) {
    const held = stack.holding('held');
    const handle = await spawn('turn in flight', { task: held.task });
    await held.held;
    await until(handle, haveEnded(2));
    return [{ part: '', workflowId: handle }];
  },
};

/** Of one reply with calls side by side one has ended and two run. */
const midTurnParallelTools: RunState = {
  name: 'mid-turn-parallel-tools',
  async reach({ spawn, until }) {
    const round = ['lookup', endless, 'hang'];
    const task = directed({ calls: [round], preface: 'All at once.', answer: 'never' });
    const handle = await spawn('mid-turn parallel tools', { task, parallelToolCalls: true });
    await until(handle, haveEnded(2));
    return [{ part: '', workflowId: handle }];
  },
};

const parallelTools: RunState = {
  name: 'parallel-tools',
  async reach({ spawn, ended }) {
    const round = ['lookup', 'deep_search', 'fail', 'add_note'];
    const task = directed({ calls: [round, ['lookup', 'lookup']], answer: 'all of them' });
    const handle = await spawn('parallel tools', { task, parallelToolCalls: true });
    await ended(handle);
    return [{ part: '', workflowId: handle }];
  },
};

const cancelRequested: RunState = {
  name: 'cancel-requested',
  async reach({ mcp, spawn, until, ended }) {
    const task = directed({ calls: ['lookup', endless] });
    const handle = await spawn('cancel requested', { task });
    await until(handle, haveEnded(3));
    await mcp.call('cancel', { handle, reason: 'not needed any more' });
    await ended(handle);
    const requested = ({ eventType }: StoredEvent): boolean =>
      eventType === 'EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED';
    return [
      { part: 'open', workflowId: handle, upTo: requested },
      { part: 'ended', workflowId: handle },
    ];
  },
};

/** Of one reply two calls wait for the user, one has ended and one runs. */
const approvalOpen: RunState = {
  name: 'approval-open',
  async reach(kit) {
    const task = directed({ calls: [['delete_page', 'lookup', 'add_note', endless]], answer: 'never' });
    const request = { task, parallelToolCalls: true, approveTools: ['desk__add_note'] };
    const handle = await kit.spawn('approval open', request);
    await pendingApprovals(kit, handle, 2);
    await kit.until(handle, haveEnded(2));
    return [{ part: '', workflowId: handle }];
  },
};

/** Decided in each way, to the end; and decided with the call that was allowed still under way. */
const approvalDecided: RunState = {
  name: 'approval-decided',
  async reach(kit) {
    const { mcp, temporal, spawn, ended } = kit;
    const task = directed({ calls: [['delete_page', 'lookup']], answer: 'done' });
    const asking = async (name: string, request: Record<string, unknown> = {}): Promise<string> => {
      const handle = await spawn(`approval ${name}`, { task, parallelToolCalls: true, ...request });
      await pendingApprovals(kit, handle, 1);
      return handle;
    };
    const allowed = await asking('allowed');
    await mcp.call('approve', { handle: allowed, allow: true });
    const declined = await asking('declined');
    await mcp.call('approve', { handle: declined, allow: false });
    const signalled = await asking('signalled');
    await temporal.workflow.getHandle(signalled).signal(approveSignal);
    await ended(allowed, declined, signalled);
    const underWay = await asking('under way', {
      task: directed({ calls: [endless], answer: 'never' }),
      approveTools: ['desk__wait'],
    });
    await mcp.call('approve', { handle: underWay, allow: true });
    await kit.stack.tools.waitFor(({ lines }) => lines.at(-1)?.tool === 'wait', 30_000);
    return Object.entries({ allowed, declined, signalled, 'under-way': underWay }).map(
      ([part, workflowId]) => ({ part, workflowId }),
    );
  },
};

async function pendingApprovals(kit: RecordingKit, handle: string, calls: number): Promise<void> {
  await kit.status(
    handle,
    ({ pendingApprovals: pending }) => Array.isArray(pending) && pending.length === calls,
  );
}

/** Each budget used up once: by turns, by calls, by time that passes in a call. */
const budgetExceeded: RunState = {
  name: 'budget-exceeded',
  async reach({ spawn, ended }) {
    const looking = directed({ calls: ['lookup'], repeat: 20, answer: 'never' });
    const budgeted = async (name: string, task: string, budget: Record<string, number>): Promise<string> =>
      await spawn(`budget of ${name}`, { task, maxToolCalls: 20, maxTokens: 64, ...budget });
    const tokens = await budgeted('tokens', looking, { budgetTokens: 3_000 });
    const calls = await budgeted('calls', looking, { budgetToolCalls: 2 });
    const seconds = await budgeted('seconds', directed({ calls: [endless] }), { budgetSeconds: 2 });
    await ended(tokens, calls, seconds);
    return Object.entries({ tokens, calls, seconds }).map(([part, workflowId]) => ({ part, workflowId }));
  },
};

/** A budget that is not used up, with a turn under way on what it has left. */
const budgetOpen: RunState = {
  name: 'budget-open',
  async reach({ spawn, until }) {
    const budget = { budgetTokens: 1_000_000, budgetToolCalls: 10, budgetSeconds: 86_400 };
    const task = directed({ calls: ['lookup', endless], answer: 'never' });
    const handle = await spawn('budget open', { task, ...budget });
    await until(handle, haveEnded(3));
    return [{ part: '', workflowId: handle }];
  },
};

/** A run in two executions. The recorder's Temporal suggests a new one early. */
const continuedAsNew: RunState = {
  name: 'continued-as-new',
  async reach({ temporal, spawn, ended }) {
    const task = directed({ calls: ['lookup'], repeat: 24, preface: 'On it.', answer: 'all of it' });
    const handle = await spawn('continued as new', { task, maxToolCalls: 24, system: 'Be brief.' });
    await ended(handle);
    const { events } = await temporal.workflow.getHandle(handle).fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes;
    const before = started?.continuedExecutionRunId ?? '';
    if (before === '') throw new Error('the run did not continue as new');
    return [
      { part: 'before', workflowId: handle, runId: before },
      { part: 'after', workflowId: handle },
    ];
  },
};

const failed: RunState = {
  name: 'failed',
  async reach({ spawn, ended }) {
    const task = directed({ calls: ['lookup'], fault: { kind: 'error', status: 400, turn: 1 } });
    const handle = await spawn('failed', { task });
    await ended(handle);
    return [{ part: '', workflowId: handle }];
  },
};

const listing: RunState = {
  name: 'list-tools',
  async reach({ mcp, temporal, stack }) {
    await mcp.call('tools', {});
    const query = `TaskQueue = '${stack.config.taskQueue}' AND WorkflowType = 'list-tools'`;
    for await (const { workflowId } of temporal.workflow.list({ query })) return [{ part: '', workflowId }];
    throw new Error('no listing was started');
  },
};

export const runStates: readonly RunState[] = [
  simple,
  withoutTools,
  refusedCalls,
  turnInFlight,
  midTurnParallelTools,
  parallelTools,
  cancelRequested,
  approvalOpen,
  approvalDecided,
  budgetExceeded,
  budgetOpen,
  continuedAsNew,
  failed,
  listing,
  ...treeStates,
];
