/**
 * The histories that every later build must be able to replay: one folder a release, one file an
 * execution, written by `scripts/record-histories.ts` and never changed afterwards.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

export const historiesFolder = resolve(import.meta.dirname, '..', 'fixtures', 'histories');

const eventSchema = z.looseObject({ eventId: z.string(), eventType: z.string() });
const historySchema = z.object({ events: z.array(eventSchema).min(4) });

export type StoredEvent = z.infer<typeof eventSchema>;

export interface StoredHistory {
  /** `0.1.0/simple`. */
  readonly name: string;
  readonly release: string;
  /** Of the state that the run was in, and which of its executions this is: `tree.child-1`. */
  readonly state: string;
  readonly workflowId: string;
  readonly workflowType: string;
  readonly events: readonly StoredEvent[];
}

/** @throws when a file is no history. */
export function readStoredHistories(): StoredHistory[] {
  return readdirSync(historiesFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: release }) =>
      readdirSync(join(historiesFolder, release))
        .filter((file) => file.endsWith('.json'))
        .toSorted()
        .map((file) =>
          parseHistory(
            release,
            file.slice(0, -'.json'.length),
            readFileSync(join(historiesFolder, release, file), 'utf8'),
          ),
        ),
    );
}

const startedSchema = z.object({
  workflowExecutionStartedEventAttributes: z.looseObject({
    workflowId: z.string(),
    workflowType: z.object({ name: z.string() }),
  }),
});

export function parseHistory(release: string, state: string, text: string): StoredHistory {
  const { events } = historySchema.parse(JSON.parse(text));
  const { workflowExecutionStartedEventAttributes: started } = startedSchema.parse(events[0]);
  return {
    name: `${release}/${state}`,
    release,
    state,
    workflowId: started.workflowId,
    workflowType: started.workflowType.name,
    events,
  };
}

/** Types of the activities that the history has commands for, local ones too. */
export function activityTypesOf(history: StoredHistory): ReadonlySet<string> {
  const scheduled = z.object({
    activityTaskScheduledEventAttributes: z.looseObject({ activityType: z.object({ name: z.string() }) }),
  });
  return new Set(
    history.events.flatMap((event) => {
      const read = scheduled.safeParse(event);
      if (read.success) return [read.data.activityTaskScheduledEventAttributes.activityType.name];
      return localActivityTypes(event);
    }),
  );
}

const markerSchema = z.object({
  markerRecordedEventAttributes: z.looseObject({
    markerName: z.literal('core_local_activity'),
    details: z.object({ data: z.object({ payloads: z.array(z.looseObject({ data: z.string() })) }) }),
  }),
});

function localActivityTypes(event: StoredEvent): string[] {
  const read = markerSchema.safeParse(event);
  if (!read.success) return [];
  return read.data.markerRecordedEventAttributes.details.data.payloads.flatMap(({ data }) => {
    const { activity_type: type } = JSON.parse(Buffer.from(data, 'base64').toString('utf8')) as {
      activity_type?: string;
    };
    return type === undefined ? [] : [type];
  });
}

/** Every text of the history, those inside payloads decoded. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const payload = payloadSchema.safeParse(value);
  if (payload.success) return [Buffer.from(payload.data.data, 'base64').toString('utf8')];
  return Object.values(value).flatMap(textsOf);
}

export const payloadSchema = z.looseObject({
  metadata: z.looseObject({ encoding: z.string() }),
  data: z.string(),
});
