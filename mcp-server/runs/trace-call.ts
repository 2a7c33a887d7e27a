/**
 * One span for one request for runs, whichever door it came through: child of the request's trace context,
 * and parent of the run that it starts. Nothing of arguments or answers gets into it.
 */
import { formatTraceparent, parseTraceparent } from '../../contracts/trace-context.ts';
import type { Attributes, OpenSpan, Telemetry } from '../../telemetry/telemetry.ts';
import type { SpawningCall } from './trace-spawn.ts';

export interface TracedCall extends SpawningCall {
  /** @param error null: it succeeded. */
  end(attributes: Attributes, error: string | null): void;
}

/** @param telemetry null: the call goes on with the trace context it came with. */
export function traceCall(
  telemetry: Telemetry | null,
  name: string,
  traceparent: string | undefined,
  attributes: Attributes,
): TracedCall {
  if (telemetry === null) return { traceparent, end: () => undefined };
  const span: OpenSpan = telemetry.start({
    name,
    kind: 'server',
    parent: parseTraceparent(traceparent),
    attributes,
  });
  return {
    span,
    traceparent: formatTraceparent(span.context),
    end: (more, error) => span.end({ attributes: more, error }),
  };
}
