/** Routes about what runs use, and about who asks. */
import { z } from 'zod';
import { decideRequestSchema, decideResponseSchema } from '../../contracts/decide.ts';
import { schedulerStatusSchema, replicaStatusSchema } from '../../contracts/scheduler-status.ts';
import { serviceClassSchema } from '../../contracts/service-class.ts';
import { toolListingSchema } from '../../contracts/tool-listing.ts';
import type { RunService } from '../runs/run-service.ts';
import { apiRoute, ok, type ApiRoute } from './api-route.ts';

const { held, runs, runsByPhase, proxies, policy } = schedulerStatusSchema.shape;

/** What an event tells of it: live runs are left out, they change all the time. */
export const poolNewsSchema = z.object({
  replicas: z.array(
    replicaStatusSchema.extend({ url: z.string().nullable().describe('null: this token may not see it.') }),
  ),
  held: z
    .array(
      held.element.extend({
        caller: z.string().nullable().describe('null: all others, whom this token may not see.'),
      }),
    )
    .describe('Turns that wait for admission, by class and caller.'),
  runsByPhase,
  proxies: proxies.describe('That are connected to the scheduler.'),
});

const poolAnswer = poolNewsSchema.extend({
  runs: runs.describe(
    'Live runs, the most recently active first, at most 500; also of agents with a loop of their own.',
  ),
  policy,
});

function poolRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/pool',
    operation: 'getPool',
    summary: 'The replicas, what waits for them and what is at work on them, as the scheduler tells it',
    answers: { 200: { description: 'The pool now.', schema: poolAnswer } },
    refusals: ['unavailable'],
    handle: async ({ asker }) => ok(await service.pool(asker)),
  });
}

function toolsRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/tools',
    operation: 'listTools',
    summary: 'The tools that runs can use',
    description: 'Asked from a worker; up to ten seconds old.',
    answers: {
      200: { description: 'All tools, and which servers could not be asked.', schema: toolListingSchema },
    },
    refusals: ['unavailable'],
    handle: async () => ok(await service.tools()),
  });
}

function decideRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: '/api/decide',
    operation: 'decide',
    summary: 'Classify a text: one short model step, no run',
    body: decideRequestSchema,
    answers: { 200: { description: 'The label, and how likely each was.', schema: decideResponseSchema } },
    refusals: ['invalid_json', 'invalid_request', 'body_too_large', 'unavailable'],
    handle: async ({ body, asker, signal }) => ok(await service.decide(body, asker, signal)),
  });
}

const meAnswer = z.object({
  caller: z.string().describe('The name of your token; else the header x-fermata-caller, else `api`.'),
  seesAll: z.boolean().describe('You see and end the runs of everyone.'),
  classCeiling: serviceClassSchema.nullable().describe('The best class of your runs; null: any.'),
  version: z.string(),
  temporalNamespace: z.string().describe('Where the runs are in Temporal: a handle is a workflow id there.'),
  temporalUiUrl: z.string().nullable().describe('Root of Temporal\u2019s own web pages; null: not known.'),
});

export interface ServerFacts {
  readonly version: string;
  readonly temporalNamespace: string;
  readonly temporalUiUrl: string | null;
}

function meRoute(facts: ServerFacts): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/me',
    operation: 'getMe',
    summary: 'Who you are here, and what you may see',
    answers: { 200: { description: 'You.', schema: meAnswer } },
    refusals: [],
    handle: async ({ asker }) => await Promise.resolve(ok({ ...asker, ...facts })),
  });
}

export function poolRoutes(service: RunService, facts: ServerFacts): readonly ApiRoute[] {
  return [poolRoute(service), toolsRoute(service), decideRoute(service), meRoute(facts)];
}
