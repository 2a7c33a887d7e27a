/**
 * Ids of spans and traces that every process works out alike, from what it knows anyway. A run's spans need
 * so no state of their own: they outlive kills, retries and replays, and whoever has only a handle can name
 * the span of its run. Pure; see docs/decisions/2026-11-30-telemetry.md.
 */
import { createHash } from 'node:crypto';

/** 16 hexadecimal digits for the one span of `parts`; never all zeros. */
export function derivedSpanId(...parts: readonly (string | number)[]): string {
  return digits(['span', ...parts], 16);
}

/** 32 hexadecimal digits for the trace of `parts`; never all zeros. */
export function derivedTraceId(...parts: readonly (string | number)[]): string {
  return digits(['trace', ...parts], 32);
}

function digits(parts: readonly (string | number)[], length: number): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, length);
  return /[^0]/.test(hash) ? hash : '1'.padStart(length, '0');
}
