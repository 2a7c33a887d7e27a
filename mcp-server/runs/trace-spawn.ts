/**
 * The trace that a new run is in: that of the call that asked for it, but for a run below another one, which
 * is in its parent's trace. Where the two are not the same, the call's span links to the run.
 */
import type { Handle } from '../../contracts/ids.ts';
import { formatTraceparent, parseTraceparent } from '../../contracts/trace-context.ts';
import { runSpanId, type RunTraces } from '../../telemetry/run-traces.ts';
import type { OpenSpan } from '../../telemetry/telemetry.ts';

export interface SpawningCall {
  /** W3C trace context of the call, of its own span where it has one. */
  readonly traceparent?: string | undefined;
  /** Its span; absent: it has none. */
  readonly span?: OpenSpan | undefined;
}

/**
 * @param traces null: nothing is traced here.
 * @param parent null: the run is a root.
 * @returns the `traceparent` that the run is started with.
 */
export async function startedIn(
  traces: RunTraces | null,
  { traceparent, span }: SpawningCall,
  parent: Handle | null,
  handle: Handle,
): Promise<string | undefined> {
  if (traces === null || parent === null) return traceparent;
  const above = await traces.of(parent, null);
  if (above === null || parseTraceparent(traceparent)?.traceId === above.context.traceId) return traceparent;
  span?.link({ ...above.context, spanId: runSpanId(handle) });
  return formatTraceparent(above.context);
}
