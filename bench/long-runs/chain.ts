/** The workflow executions of one run, as Temporal has them on record. */
import type { Client } from '@temporalio/client';

/** One execution of a run. */
export interface Execution {
  /** Model turns that were begun in it. */
  readonly turns: number;
  /** Of its whole history, as Temporal counts. */
  readonly historyBytes: number;
  /** Of the input that the execution before it handed over, or of the run's own. */
  readonly inputBytes: number;
  readonly events: number;
  /** Workflow tasks that failed or timed out. */
  readonly failedTasks: number;
}

/** @returns all executions of the run, the first one first. */
export async function readChain(client: Client, run: string): Promise<readonly Execution[]> {
  const chain: Execution[] = [];
  let runId: string | undefined = (await client.workflow.getHandle(run).describe()).runId;
  while (runId !== undefined) {
    const { execution, previous } = await readExecution(client, run, runId);
    chain.unshift(execution);
    runId = previous;
  }
  return chain;
}

async function readExecution(
  client: Client,
  run: string,
  runId: string,
): Promise<{ readonly execution: Execution; readonly previous: string | undefined }> {
  const handle = client.workflow.getHandle(run, runId);
  const { events } = await handle.fetchHistory();
  const { historySize } = await handle.describe();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  const input = started?.input?.payloads ?? [];
  const count = (test: (event: NonNullable<typeof events>[number]) => boolean): number =>
    events?.filter(test).length ?? 0;
  return {
    execution: {
      turns: count((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'modelTurn'),
      historyBytes: historySize ?? 0,
      inputBytes: input.reduce((bytes, payload) => bytes + (payload.data?.length ?? 0), 0),
      events: events?.length ?? 0,
      failedTasks: count(
        (event) =>
          event.workflowTaskFailedEventAttributes !== null &&
          event.workflowTaskFailedEventAttributes !== undefined,
      ),
    },
    previous:
      started?.continuedExecutionRunId === '' ? undefined : (started?.continuedExecutionRunId ?? undefined),
  };
}

export interface Growth {
  /** Bytes of history a turn, without what executions were handed, second half over first half. */
  readonly perTurn: number | null;
  readonly bytesPerTurn: number;
  /** All inputs together. */
  readonly handedOverBytes: number;
}

/** @param chain of a run of at least two executions; else the growth is null. */
export function growthOf(chain: readonly Execution[]): Growth {
  const turns = sum(chain, (one) => one.turns);
  const half = turns / 2;
  let before = 0;
  const first: Execution[] = [];
  const second: Execution[] = [];
  for (const execution of chain) {
    // The execution in which the run is half way counts to where most of it lies.
    if (before + execution.turns / 2 <= half) first.push(execution);
    else second.push(execution);
    before += execution.turns;
  }
  const rate = (part: readonly Execution[]): number =>
    sum(part, (one) => one.historyBytes - one.inputBytes) / sum(part, (one) => one.turns);
  return {
    perTurn: first.length === 0 || second.length === 0 ? null : rate(second) / rate(first),
    bytesPerTurn: rate(chain),
    handedOverBytes: sum(chain.slice(1), (one) => one.inputBytes),
  };
}

function sum(part: readonly Execution[], value: (one: Execution) => number): number {
  return part.reduce((total, one) => total + value(one), 0);
}
