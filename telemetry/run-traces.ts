/**
 * Which trace a run is in and where in it, worked out alike by every process from how the run was started:
 * its span's id follows from its handle, its trace from the `traceparent` it was started with or from the
 * handle of its tree's root. Looked up once a run, and kept up to a bound.
 */
import { z } from 'zod';
import { parseTraceparent, type TraceContext } from '../contracts/trace-context.ts';
import { derivedSpanId, derivedTraceId } from './derived-ids.ts';
import type { Telemetry } from './telemetry.ts';

export interface RunTrace {
  /** Of the run's own span, the parent of its turns, its tool calls and its children. */
  readonly context: TraceContext;
  /** null: the run is the root of its trace. */
  readonly parent: TraceContext | null;
}

/** How a run was started, as far as its trace goes by it. */
export interface RunStart {
  readonly traceparent?: string | undefined;
  readonly parent?: string | undefined;
  readonly root?: string | undefined;
}

/** Reads the input of a workflow execution of the run; null executionId: the latest. */
export type ReadRunInput = (handle: string, executionId: string | null) => Promise<unknown>;

/** Runs whose trace is kept in memory; one that falls out is looked up again. */
const mostKept = 10_000;

const startSchema = z.object({
  traceparent: z.string().optional().catch(undefined),
  parent: z.string().optional().catch(undefined),
  root: z.string().optional().catch(undefined),
});
/** A run that has continued as new has its first input inside of the new one. */
const continuationSchema = z.object({ continuation: z.number(), input: startSchema });

/** Id of the one span of a run, whichever process asks. */
export function runSpanId(handle: string): string {
  return derivedSpanId('run', handle);
}

export function runTraceOf(
  telemetry: Pick<Telemetry, 'rootContext'>,
  handle: string,
  start: RunStart,
): RunTrace {
  const spanId = runSpanId(handle);
  const parent = parseTraceparent(start.traceparent);
  if (parent !== null) return { context: { ...parent, spanId }, parent };
  const traceId = derivedTraceId('run', start.root ?? handle);
  const context = telemetry.rootContext(traceId, spanId);
  return {
    context,
    parent: start.parent === undefined ? null : { ...context, spanId: runSpanId(start.parent) },
  };
}

export class RunTraces {
  readonly #telemetry: Pick<Telemetry, 'rootContext'>;
  readonly #read: ReadRunInput;
  readonly #kept = new Map<string, RunTrace>();

  constructor(telemetry: Pick<Telemetry, 'rootContext'>, read: ReadRunInput) {
    this.#telemetry = telemetry;
    this.#read = read;
  }

  /**
   * @param traceparent that the run was started with, where that is known.
   * @returns null when it cannot be found out now. Never rejects.
   */
  async of(handle: string, executionId: string | null, traceparent?: string): Promise<RunTrace | null> {
    const kept = this.#kept.get(handle);
    if (kept !== undefined) return kept;
    const start = traceparent === undefined ? await this.#look(handle, executionId) : { traceparent };
    if (start === null) return null;
    const found = runTraceOf(this.#telemetry, handle, start);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= mostKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(handle, found);
    return found;
  }

  forget(handle: string): void {
    this.#kept.delete(handle);
  }

  async #look(handle: string, executionId: string | null): Promise<RunStart | null> {
    try {
      const input = await this.#read(handle, executionId);
      const continuation = continuationSchema.safeParse(input);
      if (continuation.success) return continuation.data.input;
      return startSchema.parse(input);
    } catch {
      return null;
    }
  }
}
