/**
 * What a run did when, from the events of its history in Temporal: its turns, its tool calls and its waits
 * for approval. Pure. What an event does not tell is null; what is no part of a run's work is left out.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { z } from 'zod';
import { runMemoKey, runMemoSchema, toolOfActivityId, type RunMemo } from '../../contracts/run.ts';

export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

interface SpanBase {
  /** ISO 8601. */
  readonly startedAt: string;
  /** null: it goes on. */
  readonly endedAt: string | null;
}

export type TimelineSpan =
  | (SpanBase & {
      readonly kind: 'turn';
      readonly turn: number | null;
      readonly outcome: SpanOutcome;
      readonly attempts: number;
      readonly model: string | null;
      /** Milliseconds held by the scheduler, of the last attempt; null: not known yet. */
      readonly heldMs: number | null;
      /** Milliseconds at the engine after that. */
      readonly modelMs: number | null;
      /** Of them, until the first part of the reply; null: not measured. */
      readonly firstByteMs: number | null;
      readonly promptTokens: number | null;
      readonly completionTokens: number | null;
      readonly cachedTokens: number | null;
      /** Tools that its reply calls. */
      readonly calls: readonly string[];
    })
  | (SpanBase & {
      readonly kind: 'tool';
      readonly tool: string;
      readonly callId: string | null;
      /** `failed` also when the tool said so. */
      readonly outcome: SpanOutcome;
      readonly attempts: number;
      readonly toolMs: number | null;
    })
  | (SpanBase & {
      readonly kind: 'approval';
      /** Tools whose calls wait. */
      readonly tools: readonly string[];
    });

/** `running`: it goes on, or the run has ended without it. */
export type SpanOutcome = 'running' | 'ok' | 'failed' | 'cancelled';

const turnInputSchema = z.looseObject({ turn: z.number() });
const turnResultSchema = z.looseObject({
  model: z.string(),
  calls: z.array(z.looseObject({ name: z.string() })),
  promptTokens: z.number(),
  completionTokens: z.number(),
  cachedTokens: z.number(),
  modelMs: z.number(),
  heldMs: z.number(),
  // Histories of older versions do not have it.
  firstByteMs: z.number().nullable().default(null),
});
const callInputSchema = z.looseObject({ callId: z.string() });
const callResultSchema = z.looseObject({ failed: z.boolean(), toolMs: z.number() });

/** The execution before the one that these events are of; null: they begin with the run. */
export function executionBefore(events: readonly HistoryEvent[]): string | null {
  const runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  return runId === '' ? null : runId;
}

/** In the order of their start. */
export function timelineOf(events: readonly HistoryEvent[]): TimelineSpan[] {
  const activities = new Map<string, Activity>();
  const waits = new Waits();
  for (const event of events) {
    const atMs = timeOf(event);
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled !== null && scheduled !== undefined) {
      const [input] = scheduled.input?.payloads ?? [];
      activities.set(String(event.eventId), {
        type: scheduled.activityType?.name ?? '',
        id: scheduled.activityId ?? '',
        input: valueOf(input),
        startedMs: atMs,
        end: null,
        attempts: 1,
      });
    }
    readActivityEvent(event, atMs, activities);
    const memo = event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields?.[runMemoKey];
    if (memo !== undefined) waits.take(runMemoSchema.safeParse(valueOf(memo)).data ?? null, atMs);
    if (isClosing(event)) waits.take(null, atMs);
  }
  const spans = [...activities.values()].flatMap((activity) => spanOf(activity) ?? []);
  return [...spans, ...waits.spans()].toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

interface Activity {
  readonly type: string;
  readonly id: string;
  readonly input: unknown;
  readonly startedMs: number;
  end: { readonly atMs: number; readonly outcome: SpanOutcome; readonly result: unknown } | null;
  attempts: number;
}

function readActivityEvent(event: HistoryEvent, atMs: number, activities: Map<string, Activity>): void {
  const { activityTaskStartedEventAttributes: started, activityTaskCompletedEventAttributes: completed } =
    event;
  const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
  const told = started ?? completed ?? failed ?? event.activityTaskCanceledEventAttributes;
  const activity = activities.get(String(told?.scheduledEventId));
  if (activity === undefined) return;
  if (told === started) {
    activity.attempts = started?.attempt ?? 1;
    return;
  }
  const outcome = told === completed ? 'ok' : told === failed ? 'failed' : 'cancelled';
  activity.end = { atMs, outcome, result: valueOf(completed?.result?.payloads?.[0]) };
}

function spanOf({ type, id, input, startedMs, end, attempts }: Activity): TimelineSpan | null {
  const base = { startedAt: isoOf(startedMs), endedAt: end === null ? null : isoOf(end.atMs), attempts };
  const outcome = end?.outcome ?? 'running';
  if (type === 'modelTurn') {
    const result = turnResultSchema.safeParse(end?.result).data;
    return {
      kind: 'turn',
      ...base,
      outcome,
      turn: turnInputSchema.safeParse(input).data?.turn ?? null,
      model: result?.model ?? null,
      heldMs: result?.heldMs ?? null,
      modelMs: result?.modelMs ?? null,
      firstByteMs: result?.firstByteMs ?? null,
      promptTokens: result?.promptTokens ?? null,
      completionTokens: result?.completionTokens ?? null,
      cachedTokens: result?.cachedTokens ?? null,
      calls: result?.calls.map(({ name }) => name) ?? [],
    };
  }
  if (type !== 'callTool') return null;
  const result = callResultSchema.safeParse(end?.result).data;
  return {
    kind: 'tool',
    ...base,
    outcome: result?.failed === true ? 'failed' : outcome,
    tool: toolOfActivityId(id),
    callId: callInputSchema.safeParse(input).data?.callId ?? null,
    toolMs: result?.toolMs ?? null,
  };
}

/** From a memo with open approvals to the next one with others or none. */
class Waits {
  readonly #ended: TimelineSpan[] = [];
  #open: { readonly key: string; readonly tools: readonly string[]; readonly startedMs: number } | null =
    null;

  /** @param memo null: the run has ended. */
  take(memo: RunMemo | null, atMs: number): void {
    const pending = memo?.pendingApprovals ?? [];
    const key = JSON.stringify(pending.map(({ id }) => id));
    if (this.#open?.key === key) return;
    if (this.#open !== null) this.#ended.push(spanOfWait(this.#open, atMs));
    this.#open =
      pending.length === 0 ? null : { key, tools: pending.map(({ tool }) => tool), startedMs: atMs };
  }

  spans(): TimelineSpan[] {
    return this.#open === null ? this.#ended : [...this.#ended, spanOfWait(this.#open, null)];
  }
}

function spanOfWait(
  { tools, startedMs }: { readonly tools: readonly string[]; readonly startedMs: number },
  endedMs: number | null,
): TimelineSpan {
  return {
    kind: 'approval',
    tools,
    startedAt: isoOf(startedMs),
    endedAt: endedMs === null ? null : isoOf(endedMs),
  };
}

function isClosing(event: HistoryEvent): boolean {
  return [
    event.workflowExecutionCompletedEventAttributes,
    event.workflowExecutionFailedEventAttributes,
    event.workflowExecutionCanceledEventAttributes,
    event.workflowExecutionTerminatedEventAttributes,
    event.workflowExecutionTimedOutEventAttributes,
    event.workflowExecutionContinuedAsNewEventAttributes,
  ].some((attributes) => attributes !== null && attributes !== undefined);
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + Math.floor((eventTime?.nanos ?? 0) / 1_000_000);
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** undefined for what cannot be read: an event that is not understood must not hide the others. */
function valueOf(
  payload: Parameters<typeof defaultPayloadConverter.fromPayload>[0] | null | undefined,
): unknown {
  if (payload === null || payload === undefined) return undefined;
  try {
    return defaultPayloadConverter.fromPayload<unknown>(payload);
  } catch {
    return undefined;
  }
}
