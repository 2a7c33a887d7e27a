/**
 * Brings runs into known states on a real stack (Temporal, scheduler, proxy, worker, mcp-server, the
 * simulated engine, the fake tool server) and takes their histories. Used by `scripts/record-histories.ts`
 * and by a test that the recorder still works.
 */
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { connectModern, type ToolClient } from '../../bench/mcp-clients.ts';
import { startStack, type Stack } from '../mcp-server/stack.ts';
import { scrubHistory } from './scrub-history.ts';
import { parseHistory, type StoredEvent, type StoredHistory } from './stored-histories.ts';

/** One execution that a state leaves behind. */
export interface Execution {
  /** Added to the state's name: `child-1`; empty: the state has one execution. */
  readonly part: string;
  readonly workflowId: string;
  /** Default: the newest execution of this workflow id. */
  readonly runId?: string;
  /** How much of the history is kept: up to the workflow task in whose course this event came. Default: all. */
  readonly upTo?: (event: StoredEvent) => boolean;
}

export interface RunState {
  readonly name: string;
  /** Resolves when the state is reached; the executions stay in it until the recorder has their histories. */
  reach(kit: RecordingKit): Promise<readonly Execution[]>;
}

export interface RecordingKit {
  readonly stack: Stack;
  readonly temporal: Client;
  readonly mcp: ToolClient;
  /** Starts a run whose handle follows from `name`; @returns the handle. */
  spawn(name: string, request: Record<string, unknown>): Promise<string>;
  /** Waits until all have ended, however. */
  ended(...handles: readonly string[]): Promise<void>;
  /** Waits until the status tool says such of a run. */
  status(handle: string, isSuch: (run: Record<string, unknown>) => boolean): Promise<void>;
  /** Waits until the newest execution's history is such. */
  until(workflowId: string, isSuch: (events: readonly StoredEvent[]) => boolean): Promise<void>;
}

export interface RecorderOptions {
  readonly temporalAddress: string;
  readonly workflowBundlePath: string;
  /** Makes the handles of this recording differ from those of others on the same server. */
  readonly salt?: string;
}

/** Dynamic configuration of the recorder's Temporal server: runs go on in new executions early. */
export const recordingTemporal = { 'limit.historyCount.suggestContinueAsNew': '150' };

const boundMs = 60_000;
const askEveryMs = 50;

/** Reaches each of `states` in turn, on one stack. */
export async function recordStates(
  options: RecorderOptions,
  states: readonly RunState[],
  onRecorded: (history: StoredHistory) => void | Promise<void>,
): Promise<void> {
  const stack = await startStack(options);
  const mcp = await connectModern(stack.mcpUrl);
  const opened: string[] = [];
  const kit = createKit(stack, mcp, options.salt ?? '', opened);
  try {
    for (const state of states) {
      const executions = await state.reach(kit);
      for (const execution of executions) {
        opened.push(execution.workflowId);
        const name = [state.name, execution.part].filter((part) => part !== '').join('.');
        await onRecorded(await takeHistory(stack.temporal, execution, name));
      }
    }
  } finally {
    await Promise.all(opened.map(async (id) => await terminate(stack.temporal, id)));
    await mcp.close();
    await stack.close();
  }
}

function createKit(stack: Stack, mcp: ToolClient, salt: string, opened: string[]): RecordingKit {
  const { temporal } = stack;
  return {
    stack,
    temporal,
    mcp,
    async spawn(name, request) {
      const { handle } = await mcp.call('spawn', { ...request, requestId: `history of ${name}${salt}` });
      opened.push(String(handle));
      return String(handle);
    },
    async ended(...handles) {
      await mcp.call('await', { handles, timeoutSeconds: boundMs / 1_000 });
    },
    status: async (handle, isSuch) =>
      await eventually(async () => isSuch(await mcp.call('status', { handle }))),
    until: async (workflowId, isSuch) =>
      await eventually(async () => isSuch(await fetchEvents(temporal, { workflowId }))),
  };
}

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + boundMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs)
      throw new Error(`the state was not reached within ${boundMs / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}

async function fetchEvents(
  temporal: Client,
  execution: Pick<Execution, 'workflowId' | 'runId'>,
): Promise<StoredEvent[]> {
  const history = await temporal.workflow.getHandle(execution.workflowId, execution.runId).fetchHistory();
  const { events } = JSON.parse(historyToJSON(history)) as { events: StoredEvent[] };
  return events;
}

async function takeHistory(temporal: Client, execution: Execution, name: string): Promise<StoredHistory> {
  let events = await fetchEvents(temporal, execution);
  // A workflow task in flight says nothing yet of what the code does.
  await eventually(async () => {
    events = await fetchEvents(temporal, execution);
    return lastTaskEnded(events);
  });
  const kept = execution.upTo === undefined ? events : prefix(events, execution.upTo);
  const scrubbed = scrubHistory({ events: kept });
  return parseHistory('', name, JSON.stringify(scrubbed));
}

function lastTaskEnded(events: readonly StoredEvent[]): boolean {
  const last = events.findLast(({ eventType }) => eventType.startsWith('EVENT_TYPE_WORKFLOW_'));
  return !/_TASK_(SCHEDULED|STARTED)$/.test(last?.eventType ?? '');
}

/** The history as it was when the workflow had answered to the first event that matches. */
function prefix(events: readonly StoredEvent[], match: (event: StoredEvent) => boolean): StoredEvent[] {
  const at = events.findIndex(match);
  if (at === -1) throw new Error('the history has no such event');
  const completed = events.findIndex(
    ({ eventType }, index) => index > at && eventType === 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED',
  );
  // What its commands became follows at once, each with the number of that task.
  const id = events[completed]?.eventId;
  let end = completed + 1;
  while (
    end < events.length &&
    JSON.stringify(events[end]).includes(`"workflowTaskCompletedEventId":"${id}"`)
  )
    end += 1;
  return events.slice(0, end);
}

async function terminate(temporal: Client, workflowId: string): Promise<void> {
  await temporal.workflow
    .getHandle(workflowId)
    .terminate('recorded')
    .catch(() => undefined);
}
