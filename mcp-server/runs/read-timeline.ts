/** The timeline of a run, from its history in Temporal; no worker is needed. Its newest part, if it is long. */
import type { Handle } from '../../contracts/ids.ts';
import type { TemporalLink } from './temporal-link.ts';
import { executionBefore, timelineOf, type TimelineSpan } from './timeline.ts';

export interface RunTimeline {
  /** In the order of their start. */
  readonly spans: readonly TimelineSpan[];
  /** What the run did before is left out. */
  readonly earlierLeftOut: boolean;
}

/** A long run has several executions, each with a history of its own; no more of them are read. */
const maxExecutions = 5;
const maxSpans = 2_000;

export async function readTimeline(temporal: TemporalLink, handle: Handle): Promise<RunTimeline> {
  let spans: TimelineSpan[] = [];
  let runId: string | null = null;
  for (let read = 0; read < maxExecutions; read += 1) {
    const of: string | null = runId;
    const history = await temporal.call(
      async (client) => await client.workflow.getHandle(handle, of ?? undefined).fetchHistory(),
    );
    const events = history.events ?? [];
    spans = [...timelineOf(events), ...spans];
    runId = executionBefore(events);
    if (runId === null || spans.length >= maxSpans) break;
  }
  return { spans: spans.slice(-maxSpans), earlierLeftOut: runId !== null || spans.length > maxSpans };
}
