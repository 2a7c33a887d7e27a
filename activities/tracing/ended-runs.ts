/**
 * The `invoke_agent` span of a run, made once when the run has ended, by the worker that reported its end:
 * from its description in Temporal, which has start, end, outcome and counters, however many workers and
 * workflow executions the run went through. It never holds up a run; one that Temporal still calls running
 * at the last look is told of as it then stands.
 */
import type { Client } from '@temporalio/client';
import { runMemoKey, runMemoSchema, type RunMemo } from '../../contracts/run.ts';
import type { RunTraces } from '../../telemetry/run-traces.ts';
import type { Attributes, Telemetry } from '../../telemetry/telemetry.ts';

export interface EndedRunsDeps {
  readonly telemetry: Telemetry;
  readonly traces: RunTraces;
  readonly client: Pick<Client, 'workflow'>;
  readonly logger: { debug(about: object, words: string): void };
}

export interface EndedRuns {
  add(handle: string, executionId: string): void;
  /** Tells of all that wait, as they stand now. Never rejects. */
  close(): Promise<void>;
}

/** The report comes with the last workflow task; the end is to be seen once that is done. */
const waitsMs = [100, 200, 400, 1_000, 3_000, 10_000];
/** Runs that are waited for at once; of others no span is made. */
const mostWaiting = 2_000;
/** Handles of which a span was made, so that a report that is repeated makes no second one. */
const mostTold = 10_000;

interface Waiting {
  readonly handle: string;
  readonly executionId: string;
  looks: number;
  timer: NodeJS.Timeout | undefined;
}

export function createEndedRuns(deps: EndedRunsDeps): EndedRuns {
  const waiting = new Set<Waiting>();
  const told = new Set<string>();
  const later = (run: Waiting): void => {
    run.timer = setTimeout(() => void lookAt(run), waitsMs[run.looks]);
    run.timer.unref();
    run.looks += 1;
  };
  const lookAt = async (run: Waiting): Promise<void> => {
    const isLast = run.looks >= waitsMs.length;
    const done = await tellOf(deps, run, isLast);
    if (!waiting.has(run)) return;
    if (done || isLast) waiting.delete(run);
    else later(run);
  };
  return {
    add(handle, executionId) {
      if (told.has(handle) || waiting.size >= mostWaiting) return;
      const [oldest] = told;
      if (told.size >= mostTold && oldest !== undefined) told.delete(oldest);
      told.add(handle);
      const run: Waiting = { handle, executionId, looks: 0, timer: undefined };
      waiting.add(run);
      later(run);
    },
    async close() {
      const left = [...waiting];
      waiting.clear();
      for (const { timer } of left) clearTimeout(timer);
      await Promise.all(left.map(async (run) => await tellOf(deps, run, true)));
    },
  };
}

/** @returns false when the run is to be looked at again. Never rejects. */
async function tellOf(
  { client, traces, telemetry, logger }: EndedRunsDeps,
  { handle, executionId }: Waiting,
  isLast: boolean,
): Promise<boolean> {
  try {
    const { status, memo, startTime, closeTime } = await client.workflow
      .getHandle(handle, executionId)
      .describe();
    if (status.name === 'RUNNING' && !isLast) return false;
    const trace = await traces.of(handle, executionId);
    if (trace === null) return false;
    const parsed = runMemoSchema.safeParse(memo?.[runMemoKey]);
    const known = parsed.success ? parsed.data : null;
    const startMs = Date.parse(known?.startedAt ?? '');
    const span = telemetry.start({
      name: 'invoke_agent',
      kind: 'internal',
      parent: trace.parent,
      traceId: trace.context.traceId,
      spanId: trace.context.spanId,
      startMs: Number.isNaN(startMs) ? startTime.getTime() : startMs,
      attributes: attributesOf(handle, known),
    });
    span.end({ endMs: closeTime?.getTime() ?? Date.now(), error: errorOf(status.name, known) });
    return true;
  } catch (error) {
    logger.debug({ run: handle, err: error }, 'an ended run could not be described for its trace');
    return false;
  }
}

function attributesOf(handle: string, memo: RunMemo | null): Attributes {
  const common = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'fermata',
    'gen_ai.agent.name': 'fermata',
    'gen_ai.agent.id': handle,
    'gen_ai.conversation.id': handle,
    'fermata.run.id': handle,
  };
  if (memo === null) return common;
  const { counters } = memo;
  return {
    ...common,
    'gen_ai.request.model': memo.model,
    'gen_ai.usage.input_tokens': counters.promptTokens,
    'gen_ai.usage.output_tokens': counters.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': counters.cachedTokens,
    'fermata.run.root': memo.root,
    'fermata.run.parent': memo.parent,
    'fermata.run.status': memo.status,
    'fermata.class': memo.class,
    'fermata.caller': memo.caller,
    'fermata.turns': counters.turns,
    'fermata.tool_calls': counters.toolCalls,
    'fermata.failed_tool_calls': counters.failedToolCalls,
    'fermata.held_ms': counters.heldMs,
    'fermata.model_ms': counters.modelMs,
    'fermata.tool_ms': counters.toolMs,
  };
}

/** Why it failed is in the run, in words that may quote what was said. */
function errorOf(status: string, memo: RunMemo | null): string | null {
  if (status === 'COMPLETED' || (status === 'RUNNING' && memo?.status === 'Completed')) return null;
  if (memo?.budget?.exceeded) return `budget_${memo.budget.exceeded}`;
  return status === 'CANCELLED' || memo?.status === 'Cancelled' ? 'cancelled' : 'failed';
}
