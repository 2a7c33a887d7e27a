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
  /** Of what it handed to the next one: its last event has it as well. 0 in the last one. */
  readonly handedOnBytes: number;
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
  const handedOn = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
  const count = (test: (event: NonNullable<typeof events>[number]) => boolean): number =>
    events?.filter(test).length ?? 0;
  return {
    execution: {
      turns: count((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'modelTurn'),
      historyBytes: historySize ?? 0,
      inputBytes: bytesOf(started?.input?.payloads),
      handedOnBytes: bytesOf(handedOn?.input?.payloads),
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

function bytesOf(payloads: readonly { readonly data?: Uint8Array | null }[] | null | undefined): number {
  return (payloads ?? []).reduce((bytes, payload) => bytes + (payload.data?.length ?? 0), 0);
}

export interface Growth {
  /** Bytes of history a turn, without what executions handed on, second half over first half. */
  readonly perTurn: number | null;
  /** The same with what was handed on, which grows with the transcript up to its bound. */
  readonly perTurnWithHandOver: number | null;
  readonly bytesPerTurn: number;
  readonly bytesPerTurnWithHandOver: number;
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
  const own = ({ historyBytes, inputBytes, handedOnBytes }: Execution): number =>
    historyBytes - inputBytes - handedOnBytes;
  const whole = ({ historyBytes }: Execution): number => historyBytes;
  const rate = (part: readonly Execution[], bytes: (one: Execution) => number): number =>
    sum(part, bytes) / sum(part, (one) => one.turns);
  const growth = (bytes: (one: Execution) => number): number | null =>
    first.length === 0 || second.length === 0 ? null : rate(second, bytes) / rate(first, bytes);
  return {
    perTurn: growth(own),
    perTurnWithHandOver: growth(whole),
    bytesPerTurn: rate(chain, own),
    bytesPerTurnWithHandOver: rate(chain, whole),
  };
}

function sum(part: readonly Execution[], value: (one: Execution) => number): number {
  return part.reduce((total, one) => total + value(one), 0);
}
