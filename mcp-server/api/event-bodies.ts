/** The events of `GET /api/events`: their names, their data, and how they stand on the wire. Pure. */
import { z } from 'zod';
import { decidedApprovalSchema, pendingApprovalSchema } from '../../contracts/run.ts';
import { handleSchema } from '../../contracts/ids.ts';
import type { FeedEvent } from '../runs/run-feed.ts';
import { cutMiddle } from '../runs/fair-cut.ts';
import { poolNewsSchema } from './pool-routes.ts';
import { runSummarySchema, summaryBody } from './run-bodies.ts';

const atSchema = z.string().describe('When it was noticed, ISO 8601.');

/** By the name of the event. */
export const eventSchemas = {
  ready: z
    .object({
      missed: z
        .boolean()
        .describe(
          'What happened since the event that you saw last cannot be told any more: read the lists again.',
        ),
    })
    .describe('First of all: every change after it is told. Read the lists now, and nothing is missed.'),
  run: z
    .object({
      change: z
        .enum(['started', 'status', 'phase', 'progress', 'ended'])
        .describe('progress: only its counters or its budget.'),
      at: atSchema,
      run: runSummarySchema,
    })
    .describe('A run has changed.'),
  approval: z
    .object({
      change: z.enum(['opened', 'decided']),
      at: atSchema,
      handle: handleSchema,
      root: handleSchema,
      task: z.string(),
      opened: pendingApprovalSchema.nullable().describe('Arguments are cut at 500 bytes.'),
      decided: decidedApprovalSchema.nullable(),
    })
    .describe('A tool call waits for a decision, or has got one.'),
  pool: z
    .object({
      pool: poolNewsSchema.nullable(),
      fault: z.string().nullable().describe('Why it is not known now.'),
    })
    .describe('How the pool stands, at the start and when it has changed; it has no id.'),
  trouble: z
    .object({
      fault: z.string().nullable().describe('null: all is well again, and what was missed has been told.'),
    })
    .describe('Temporal cannot be asked now; changes are told late. It has no id.'),
} as const;

export type EventName = keyof typeof eventSchemas;

const argumentBytes = 500;

/** A whole event as it is sent. JSON has no line breaks, so one `data` line holds it. */
export function eventText<N extends EventName>(
  name: N,
  data: z.input<(typeof eventSchemas)[N]>,
  id: string | null = null,
): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

const texts = new WeakMap<FeedEvent, string>();

/** Made once for all who listen. */
export function changeText(event: FeedEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = makeText(event);
  texts.set(event, text);
  return text;
}

function makeText({ id, at, change }: FeedEvent): string {
  if (change.kind === 'run') {
    return eventText('run', { change: change.change, at, run: summaryBody(change.run) }, id);
  }
  const { handle, root, summary } = change.run;
  const about = { change: change.change, at, handle, root, task: summary };
  const decision =
    change.change === 'opened'
      ? {
          opened: { ...change.approval, arguments: cutMiddle(change.approval.arguments, argumentBytes) },
          decided: null,
        }
      : { opened: null, decided: change.approval };
  return eventText('approval', { ...about, ...decision }, id);
}
