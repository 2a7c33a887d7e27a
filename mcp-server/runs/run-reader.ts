/**
 * Reads runs from Temporal: description and memo, and for an ended run its result or failure. No worker
 * is needed for any of it.
 */
import { WorkflowFailedError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { rootCause, WorkflowNotFoundError } from '@temporalio/common';
import { type Handle } from '../../contracts/ids.ts';
import { handlePattern, toolOfActivityId } from '../../contracts/run-names.ts';
import { maySee, type Asker } from './asker.ts';
import { viewRun, isClosed, type RunEnd, type RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

/**
 * A run that never was, one of another caller and one that Temporal has forgotten are told of alike.
 * @param keptHours for how long Temporal keeps ended runs; null: it is not known.
 */
export function unknownHandle(handles: readonly string[], keptHours: number | null = null): UserFault {
  const names = handles.map((handle) => `'${handle.slice(0, 60)}'`).join(', ');
  const kept =
    keptHours === null
      ? 'and one that ended longer ago than Temporal keeps them is gone with its result'
      : `and one that ended more than ${keptText(keptHours)} ago is gone with its result (the retention of Temporal's namespace)`;
  return new UserFault(
    'not-found',
    `unknown handle ${names}: no such run is known here, ${kept}; spawn returns handles, and status without a handle lists your runs`,
  );
}

/** In hours, and a test's in seconds. */
function keptText(hours: number): string {
  return hours < 1 ? `${Math.round(hours * 3_600)} s` : `${Number(hours.toFixed(2))} h`;
}

/** @throws UserFault when the text is not even shaped like a handle. */
export function parseHandle(text: string): Handle {
  const trimmed = text.trim();
  if (!handlePattern.test(trimmed)) throw unknownHandle([text]);
  return trimmed as Handle;
}

/** Tools whose calls are under way, each once. */
function openCalls({ raw }: WorkflowExecutionDescription): readonly string[] {
  const calls = (raw.pendingActivities ?? []).filter(({ activityType }) => activityType?.name === 'callTool');
  return [...new Set(calls.map(({ activityId }) => toolOfActivityId(activityId ?? '')))];
}

/** Waits for the end of a run with Temporal's long poll; resolves at once when it has ended. */
export async function readEnd(client: Client, handle: Handle): Promise<RunEnd> {
  try {
    return { kind: 'returned', value: await client.workflow.getHandle(handle).result() };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    return { kind: 'failed', message: rootCause(error.cause) ?? error.message };
  }
}

export class RunReader {
  readonly #temporal: TemporalLink;

  constructor(temporal: TemporalLink) {
    this.#temporal = temporal;
  }

  /** What is thrown for handles without a run. */
  async unknown(...handles: readonly Handle[]): Promise<UserFault> {
    return unknownHandle(handles, await this.#temporal.keptHours());
  }

  /** null when there is no such run, or none that `asker` may see. */
  async find(
    handle: Handle,
    asker: Asker,
  ): Promise<{ readonly view: RunView; readonly memo: Record<string, unknown> } | null> {
    const found = await this.#describe(handle, asker);
    return found === null ? null : { view: found.view, memo: found.execution.memo ?? {} };
  }

  /**
   * A run with its final answer, if it has ended.
   * @throws UserFault for an unknown handle.
   */
  async read(handle: Handle, asker: Asker): Promise<RunView> {
    const view = await this.#readIfKnown(handle, asker);
    if (view === null) throw await this.unknown(handle);
    return view;
  }

  /**
   * Several runs, in the order of their handles.
   * @throws UserFault that names every unknown handle.
   */
  async readMany(handles: readonly Handle[], asker: Asker): Promise<RunView[]> {
    const views = await Promise.all(handles.map(async (handle) => await this.#readIfKnown(handle, asker)));
    const unknown = handles.filter((_, index) => views[index] === null);
    if (unknown.length > 0) throw await this.unknown(...unknown);
    return views.filter((view) => view !== null);
  }

  async #readIfKnown(handle: Handle, asker: Asker): Promise<RunView | null> {
    const found = await this.#describe(handle, asker);
    if (found === null || !isClosed(found.execution)) return found?.view ?? null;
    return viewRun(found.execution, await this.#temporal.call((client) => readEnd(client, handle)));
  }

  /** Another's run is told of like one that never was, and nothing more is asked about it. */
  async #describe(handle: Handle, asker: Asker) {
    try {
      const described = await this.#temporal.call((client) => client.workflow.getHandle(handle).describe());
      const execution = { ...described, openCalls: openCalls(described) };
      const view = viewRun(execution);
      return view !== null && maySee(asker, view.caller) ? { execution, view } : null;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }
}
