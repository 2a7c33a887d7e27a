/**
 * The spans of one turn: one for its request, which is the parent of whatever the engine traces, and an
 * `admit` below it for each time that it was held. Made only where traces are exported; nothing of a body
 * gets into them.
 */
import type { IncomingMessage } from 'node:http';
import { formatTraceparent, parseTraceparent, traceparentName } from '../contracts/trace-context.ts';
import type { OpenSpan, Telemetry } from '../telemetry/telemetry.ts';
import type { Decision } from './link/ticket.ts';
import type { TurnRecord } from './turn-record.ts';

export class TurnTrace {
  readonly #telemetry: Telemetry;
  readonly #span: OpenSpan;
  readonly #continued: boolean;

  /** @param route of the endpoint, as in `/v1/messages`. */
  constructor(telemetry: Telemetry, route: string, request: IncomingMessage) {
    const parent = parseTraceparent(request.headers[traceparentName]);
    const method = request.method ?? 'POST';
    this.#telemetry = telemetry;
    this.#continued = parent !== null;
    this.#span = telemetry.start({
      name: `${method} ${route}`,
      kind: 'server',
      parent,
      attributes: { 'http.request.method': method, 'http.route': route },
    });
  }

  get traceId(): string {
    return this.#span.context.traceId;
  }

  /** A turn was held and is not any more. */
  admitted(
    decision: Decision,
    heldMs: number,
    { run, turn, attempts, class: serviceClass }: TurnRecord,
  ): void {
    const endMs = Date.now();
    const span = this.#telemetry.start({
      name: 'admit',
      kind: 'internal',
      parent: this.#span.context,
      startMs: endMs - heldMs,
      attributes: {
        'fermata.run.id': run,
        'fermata.proxy.turn': turn,
        'fermata.attempt': attempts,
        'fermata.class': serviceClass,
        'fermata.held_ms': Math.round(heldMs),
        'fermata.replica': decision.kind === 'admitted' ? decision.replica.id : null,
      },
    });
    span.end({ endMs, error: errorOf(decision) });
  }

  /**
   * The engine's headers, with this turn's span as the parent of what it traces. Without a context that the
   * client sent, its `tracestate` is of no trace.
   * @param pairs name, value, … with names in lower case.
   */
  carry(pairs: readonly string[]): string[] {
    const replaced = this.#continued ? [traceparentName] : [traceparentName, 'tracestate'];
    const others = pairs.filter((_, index) => !replaced.includes(pairs[index - (index % 2)] ?? ''));
    return [...others, traceparentName, formatTraceparent(this.#span.context)];
  }

  /** @param record complete. */
  ended(record: TurnRecord): void {
    this.#span.end({
      attributes: {
        'http.response.status_code': record.status,
        'gen_ai.conversation.id': record.run,
        'gen_ai.request.model': record.model,
        'gen_ai.usage.input_tokens': record.tokensIn,
        'gen_ai.usage.output_tokens': record.tokensOut,
        'gen_ai.usage.cache_read.input_tokens': record.cached,
        'fermata.run.id': record.run,
        'fermata.proxy.turn': record.turn,
        'fermata.caller': record.caller,
        'fermata.class': record.class,
        'fermata.replica': record.replica,
        'fermata.held_ms': Math.round(record.heldMs),
        'fermata.first_byte_ms': record.firstByteMs === null ? null : Math.round(record.firstByteMs),
        'fermata.attempts': record.attempts,
        'fermata.outcome': record.outcome,
      },
      error: isFailure(record) ? errorName(record) : null,
    });
  }
}

/** null: it was admitted. */
function errorOf(decision: Decision): string | null {
  if (decision.kind === 'admitted') return null;
  return decision.kind === 'refused' ? decision.code : 'abandoned';
}

/** What a client did wrong is no failure of a server. */
function isFailure({ status, outcome }: TurnRecord): boolean {
  return status >= 500 || (status < 400 && (outcome === 'failed' || outcome === 'abandoned'));
}

function errorName({ status, outcome }: TurnRecord): string {
  return status >= 500 ? String(status) : outcome;
}
