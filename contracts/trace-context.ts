/**
 * W3C trace context as it goes from part to part: the `traceparent` header, and the field of the same name
 * in MCP's `_meta`. Pure. https://www.w3.org/TR/trace-context/#traceparent-header
 */

/** Where a span is: enough to be its parent. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether the spans of the trace are kept. */
  readonly sampled: boolean;
}

/** The name of the header, and of the field in `_meta`. */
export const traceparentName = 'traceparent';

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const noTrace = '0'.repeat(32);
const noSpan = '0'.repeat(16);

/** null for what is no valid `traceparent`: it must be taken as if it were not there. */
export function parseTraceparent(text: unknown): TraceContext | null {
  if (typeof text !== 'string' || text.length > 128) return null;
  const [, version, traceId = noTrace, spanId = noSpan, flags = '00', rest] = pattern.exec(text.trim()) ?? [];
  if (version === undefined || version === 'ff' || traceId === noTrace || spanId === noSpan) return null;
  // Only versions to come may say more than these four fields.
  if (version === '00' && rest !== undefined) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
