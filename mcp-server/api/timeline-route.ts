/** The route that tells what a run did when. */
import { z } from 'zod';
import type { RunService } from '../runs/run-service.ts';
import { apiRoute, handleParam, ok, type ApiRoute } from './api-route.ts';

const countSchema = z.number().nullable();
const spanBase = { startedAt: z.string(), endedAt: z.string().nullable().describe('null: it goes on.') };
const outcomeSchema = z.enum(['running', 'ok', 'failed', 'cancelled']);

const spanSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('turn'),
    ...spanBase,
    turn: countSchema.describe('Counts from 1.'),
    outcome: outcomeSchema,
    attempts: z.int(),
    model: z.string().nullable(),
    heldMs: countSchema.describe(
      'Milliseconds held by the scheduler before its engine; null: not known yet.',
    ),
    modelMs: countSchema.describe('Milliseconds at the engine.'),
    firstByteMs: countSchema.describe(
      'Milliseconds of `modelMs` until the first part of its reply; null: not measured.',
    ),
    promptTokens: countSchema,
    completionTokens: countSchema,
    cachedTokens: countSchema,
    calls: z.array(z.string()).describe('Tools that its reply calls.'),
  }),
  z.object({
    kind: z.literal('tool'),
    ...spanBase,
    tool: z.string(),
    callId: z.string().nullable().describe('As in the transcript.'),
    outcome: outcomeSchema.describe('failed also when the tool said so.'),
    attempts: z.int(),
    toolMs: countSchema,
  }),
  z.object({
    kind: z.literal('approval'),
    ...spanBase,
    tools: z.array(z.string()).describe('Tools whose calls waited for a decision.'),
  }),
]);

const timelineAnswer = z.object({
  spans: z.array(spanSchema).describe('In the order of their start.'),
  earlierLeftOut: z.boolean().describe('The run is long, and only its newest part is here.'),
});

export function timelineRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/runs/{handle}/timeline',
    operation: 'getTimeline',
    summary: 'What a run did when: turns, tool calls and waits for approval',
    description: 'From its history in Temporal, without a worker. At most 2,000 spans, the newest.',
    params: handleParam,
    answers: { 200: { description: 'The timeline.', schema: timelineAnswer } },
    refusals: ['unknown_handle', 'unavailable'],
    handle: async ({ params, asker }) => ok(await service.timeline(params.handle, asker)),
  });
}
