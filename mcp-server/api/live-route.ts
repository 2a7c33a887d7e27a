/** The route that tells what the model of a run writes now. */
import { z } from 'zod';
import { AbortScope } from '../runs/abort-scope.ts';
import { numberFromText } from '../runs/lenient-arguments.ts';
import { liveTurnSchema } from '../runs/live-turn.ts';
import type { RunService } from '../runs/run-service.ts';
import { apiRoute, handleParam, ok, type ApiRoute } from './api-route.ts';

const maxWaitSeconds = 15;

const liveQuery = z.strictObject({
  turn: numberFromText(z.int().min(0)).optional().describe('The turn of the answer before.'),
  offset: numberFromText(z.int().min(0))
    .default(0)
    .describe('`offset` of the answer before, and the length of its `text`.'),
  waitSeconds: numberFromText(z.number().min(0).max(maxWaitSeconds))
    .default(0)
    .describe(
      `With \`turn\`: waits so long for more, 0 to ${maxWaitSeconds}. A first question is answered at once.`,
    ),
});

const liveAnswer = z.object({
  live: liveTurnSchema
    .nullable()
    .describe('null: no turn is at work, or its worker cannot be asked. Ask again in a second.'),
});

export function liveRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/runs/{handle}/live',
    operation: 'getLiveTurn',
    summary: 'What the model of a run writes now',
    description:
      'Best effort, from the worker of the turn. Ask again with `turn`, `offset` and `waitSeconds`: the answer comes when there is more. A reply that is complete is in the transcript. A turn that is tried again begins anew, and its text with it.',
    params: handleParam,
    query: liveQuery,
    answers: { 200: { description: 'The turn at work.', schema: liveAnswer } },
    refusals: ['invalid_request', 'unknown_handle', 'unavailable'],
    async handle({ params, query, asker, signal, stopping }) {
      const either = new AbortScope(signal, stopping);
      const known = query.turn === undefined ? null : { turn: query.turn, offset: query.offset };
      const waitMs = Math.round(query.waitSeconds * 1_000);
      try {
        return ok({ live: await service.liveTurn(params.handle, { known, waitMs }, asker, either.signal) });
      } catch (error) {
        if (!stopping.aborted) throw error;
        return ok({ live: null });
      } finally {
        either.end();
      }
    },
  });
}
