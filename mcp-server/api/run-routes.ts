/** Routes about runs: lists, one run, its transcript, its tree, and what changes them. */
import { z } from 'zod';
import { decidedApprovalSchema, runStatusSchema } from '../../contracts/run.ts';
import { serviceClassSchema } from '../../contracts/service-class.ts';
import { handleSchema } from '../../contracts/ids.ts';
import type { Asker } from '../runs/asker.ts';
import { booleanFromText, numberFromText } from '../runs/lenient-arguments.ts';
import type { RunService } from '../runs/run-service.ts';
import { spawnRequestSchema } from '../runs/spawn-request.ts';
import { ApiFault, errorBodySchema } from './api-fault.ts';
import { apiRoute, ok, type ApiCall, type ApiRoute } from './api-route.ts';
import {
  detailBody,
  runDetailSchema,
  runSummarySchema,
  summaryBody,
  treeNodeBody,
  treeSchema,
} from './run-bodies.ts';

const handleParam = z.object({
  handle: z.string().describe('Handle of a run: run_ and 22 letters and digits.'),
});

const statusesSchema = z.preprocess(
  (value) =>
    (Array.isArray(value) ? value : [value]).flatMap((one) =>
      typeof one === 'string' ? one.split(',') : [one],
    ),
  z.array(runStatusSchema).min(1),
);

const listQuery = z.strictObject({
  status: statusesSchema.optional().describe('Any of these; repeated, or with commas between.'),
  caller: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Only runs of this caller. Others than yourself: for admins.'),
  class: serviceClassSchema.optional(),
  root: booleanFromText(z.boolean()).optional().describe('true: only runs without a parent.'),
  text: z.string().min(1).max(200).optional().describe('Stands in the first line of the task, in any case.'),
  startedAfter: z.iso.datetime({ offset: true }).optional().describe('Started then or later.'),
  startedBefore: z.iso.datetime({ offset: true }).optional().describe('Started before then.'),
  cursor: z.string().max(2_000).optional().describe('nextCursor of the page before, with the same filter.'),
  limit: numberFromText(z.int().min(1).max(200)).default(50).describe('Most runs of the page. Default 50.'),
});

const listAnswer = z.object({
  runs: z
    .array(runSummarySchema)
    .describe('Those at work first, the latest start first; then the ended ones, the latest end first.'),
  nextCursor: z.string().nullable().describe('For the page after this one; null: there is none.'),
});

function listRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/runs',
    operation: 'listRuns',
    summary: 'Runs, filtered, by page',
    description:
      'A change shows about a second later. A run that ends while you page may come twice. With `text`, a page may be short or empty and still have a next one.',
    query: listQuery,
    answers: { 200: { description: 'A page of runs.', schema: listAnswer } },
    refusals: ['invalid_request', 'forbidden', 'unavailable'],
    async handle({ query, asker }) {
      const { caller, startedAfter, startedBefore } = query;
      if (caller !== undefined && caller !== asker.caller && !asker.seesAll) {
        throw new ApiFault(
          'forbidden',
          `caller: this token may see the runs of '${asker.caller}' only; use one that is marked admin`,
        );
      }
      const page = await service.page(
        {
          filter: {
            statuses: query.status,
            caller,
            class: query.class,
            rootsOnly: query.root,
            text: query.text,
            startedAfter: startedAfter === undefined ? undefined : new Date(startedAfter),
            startedBefore: startedBefore === undefined ? undefined : new Date(startedBefore),
          },
          cursor: query.cursor,
          limit: query.limit,
        },
        asker,
      );
      return ok({ runs: page.runs.map((run) => summaryBody(run)), nextCursor: page.nextCursor });
    },
  });
}

const spawnAnswer = z.object({
  handle: handleSchema,
  status: runStatusSchema,
  existing: z.boolean().describe('The same requestId had started it before; nothing was started now.'),
  notes: z.array(z.string()).describe('What you should know, such as a model that could not be checked.'),
});

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function spawnRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: '/api/runs',
    operation: 'spawnRun',
    summary: 'Start a run',
    description:
      'The run is stored before this answers. With a `requestId` the call may be repeated: the same caller and id give the same run. The body is that of the MCP tool `spawn`.',
    body: spawnRequestSchema,
    answers: {
      201: { description: 'Started; Location has its address.', schema: spawnAnswer },
      200: { description: 'The same requestId had started it before.', schema: spawnAnswer },
    },
    refusals: [
      'invalid_json',
      'invalid_request',
      'unknown_handle',
      'conflict',
      'body_too_large',
      'unavailable',
    ],
    async handle({ body, asker, headers }) {
      const { traceparent } = headers;
      const isTraced = typeof traceparent === 'string' && traceparentPattern.test(traceparent);
      const { handle, status, existing, notes } = await service.spawn(body, {
        asker,
        ...(isTraced ? { traceparent } : {}),
      });
      return {
        status: existing ? 200 : 201,
        headers: { location: `/api/runs/${handle}` },
        body: { handle, status, existing, notes },
      };
    },
  });
}

const maxWaitSeconds = 60;

const runQuery = z.strictObject({
  waitSeconds: numberFromText(z.number().min(0).max(maxWaitSeconds))
    .default(0)
    .describe(
      `Waits so long for its end, 0 to ${maxWaitSeconds}, and answers earlier when it has ended or waits for approval.`,
    ),
});

function runRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/runs/{handle}',
    operation: 'getRun',
    summary: 'One run: its work, its answer, its children and the totals of all below it',
    params: handleParam,
    query: runQuery,
    answers: { 200: { description: 'The run.', schema: runDetailSchema } },
    refusals: ['invalid_request', 'unknown_handle', 'unavailable'],
    async handle({ params: { handle }, query: { waitSeconds }, asker, signal }) {
      if (waitSeconds > 0) {
        const query = { handles: [handle], mode: 'all', timeoutMs: waitSeconds * 1_000, asker } as const;
        await service.await(query, signal);
      }
      return ok(detailBody(await service.status(handle, asker)));
    },
  });
}

const transcriptQuery = z.strictObject({
  offset: numberFromText(z.int().min(0).max(1_000_000))
    .default(0)
    .describe('Index of the first entry. Default 0.'),
  limit: numberFromText(z.int().min(1).max(1_000))
    .default(100)
    .describe('Most entries of the page. Default 100.'),
  full: booleanFromText(z.boolean())
    .default(false)
    .describe(
      'true: long entries are whole. Default: each is cut in the middle at 20,000 bytes, with a note.',
    ),
});

const transcriptAnswer = z.object({
  total: z.int().describe('Entries of the whole transcript.'),
  entries: z.array(
    z.object({
      index: z.int(),
      role: z.enum(['system', 'user', 'assistant', 'tool']),
      content: z.string().nullable(),
      cutFromBytes: z.int().nullable().describe('Bytes before it was cut; null: it is whole.'),
      toolCalls: z
        .array(z.object({ id: z.string(), name: z.string(), arguments: z.string().describe('JSON text.') }))
        .describe('Of a reply.'),
      toolCallId: z.string().nullable().describe('Of a result: the call that it answers.'),
      images: z
        .array(z.object({ mimeType: z.string(), bytes: z.int() }))
        .describe('Images of a result; their data is not sent.'),
    }),
  ),
  nextOffset: z.int().nullable().describe('Where the next page begins; null: there is none.'),
});

function transcriptRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/runs/{handle}/transcript',
    operation: 'getTranscript',
    summary: 'The messages of a run, by page',
    description:
      'Read from a worker, also for a run that has ended. A very long run leaves out its oldest tool results, and then whole rounds, in which case indexes move. A page is under 4 MiB.',
    params: handleParam,
    query: transcriptQuery,
    answers: { 200: { description: 'A page of entries.', schema: transcriptAnswer } },
    refusals: ['invalid_request', 'unknown_handle', 'unavailable'],
    handle: async ({ params, query, asker }) => ok(await service.transcript(params.handle, query, asker)),
  });
}

function treeRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/tree/{handle}',
    operation: 'getTree',
    summary: 'The whole tree that a run belongs to',
    params: handleParam,
    answers: {
      200: {
        description: 'Every run of the tree, with its own work and that of all below it.',
        schema: treeSchema,
      },
    },
    refusals: ['unknown_handle', 'unavailable'],
    async handle({ params, asker }) {
      const { root, nodes } = await service.tree(params.handle, asker);
      return ok({ root, runs: nodes.map(treeNodeBody) });
    },
  });
}

const cancelBody = z
  .strictObject({ reason: z.string().min(1).max(1_000).optional().describe('Why; kept with the run.') })
  .prefault({});
const cancelAnswer = z.object({
  handle: handleSchema,
  reached: z.int().describe('Runs that were at work and were asked to end: itself and those below it.'),
  status: runStatusSchema.describe('Of the run, as it was when the request came.'),
  later: z
    .boolean()
    .describe('No worker answers: what is below ends as soon as one does, and is not counted.'),
});

function cancelRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: '/api/runs/{handle}/cancel',
    operation: 'cancelRun',
    summary: 'End a run and all below it',
    params: handleParam,
    body: cancelBody,
    answers: { 200: { description: 'What the cancel reached; 0: all had ended.', schema: cancelAnswer } },
    refusals: ['invalid_json', 'invalid_request', 'unknown_handle', 'conflict', 'unavailable'],
    handle: async ({ params, body, asker }) => ok(await service.cancel(params.handle, body.reason, asker)),
  });
}

const approvalParams = handleParam.extend({ id: z.string().min(1).max(128).describe('Id of the approval.') });
const approvalBody = z.strictObject({
  allow: booleanFromText(z.boolean()).describe('true: the call is made, once, as shown. false: it is not.'),
});
const approvalAnswer = z.object({
  handle: handleSchema,
  decided: decidedApprovalSchema.describe('What counts, and who decided it.'),
  status: runStatusSchema,
});

function approvalRoute(service: RunService): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: '/api/runs/{handle}/approvals/{id}',
    operation: 'decideApproval',
    summary: 'Decide a tool call that waits',
    description:
      'A call is decided once. Who comes second gets 409 with `decided`: what was decided, and by whom.',
    params: approvalParams,
    body: approvalBody,
    answers: {
      200: { description: 'Accepted.', schema: approvalAnswer },
      409: {
        description: 'Decided before (`already_decided`, with `decided`), or nothing waits (`conflict`).',
        schema: errorBodySchema.extend(approvalAnswer.partial().shape),
      },
    },
    refusals: ['invalid_json', 'invalid_request', 'unknown_handle', 'unavailable'],
    handle: async (call) => await decide(service, call),
  });
}

async function decide(
  service: RunService,
  {
    params: { handle, id },
    body: { allow },
    asker,
  }: Pick<ApiCall<z.output<typeof approvalParams>, unknown, { allow: boolean }>, 'params' | 'body'> & {
    asker: Asker;
  },
) {
  const outcome = await service.approve(handle, allow, id, asker);
  const { accepted, decided, status } = outcome;
  const told = { handle: outcome.handle, decided, status };
  if (accepted) return ok(told);
  throw new ApiFault(
    'already_decided',
    `approval ${decided.id} was already decided: the call of ${decided.tool} was ${decided.allow ? 'allowed' : 'declined'} by ${decided.by}; this answer changed nothing`,
    { body: told },
  );
}

export function runRoutes(service: RunService): readonly ApiRoute[] {
  return [listRoute, spawnRoute, runRoute, transcriptRoute, treeRoute, cancelRoute, approvalRoute].map(
    (make) => make(service),
  );
}
