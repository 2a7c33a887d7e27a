/** Routes that tell of runs: lists, one run, its transcript, its tree. */
import { z } from 'zod';
import { runStatusSchema } from '../../contracts/run.ts';
import { serviceClassSchema } from '../../contracts/service-class.ts';
import { AbortScope } from '../runs/abort-scope.ts';
import { booleanFromText, numberFromText } from '../runs/lenient-arguments.ts';
import type { RunService } from '../runs/run-service.ts';
import { ApiFault } from './api-fault.ts';
import { apiRoute, handleParam, ok, type ApiCall, type ApiRoute } from './api-route.ts';
import { liveRoute } from './live-route.ts';
import { timelineRoute } from './timeline-route.ts';
import {
  detailBody,
  runDetailSchema,
  runSummarySchema,
  summaryBody,
  treeNodeBody,
  treeSchema,
} from './run-bodies.ts';

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

const maxWaitSeconds = 60;

const runQuery = z.strictObject({
  waitSeconds: numberFromText(z.number().min(0).max(maxWaitSeconds))
    .default(0)
    .describe(
      `Waits so long for its end, 0 to ${maxWaitSeconds}, and answers earlier when it has ended or waits for approval.`,
    ),
});

/** Also over when this server stops: whoever waited asks again, and reaches another one. */
async function waitForEnd(
  service: RunService,
  handle: string,
  timeoutMs: number,
  { asker, signal, stopping }: Pick<ApiCall<unknown, unknown, unknown>, 'asker' | 'signal' | 'stopping'>,
): Promise<void> {
  const either = new AbortScope(signal, stopping);
  try {
    await service.await({ handles: [handle], mode: 'all', timeoutMs, asker }, either.signal);
  } catch (error) {
    if (!stopping.aborted) throw error;
  } finally {
    either.end();
  }
}

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
    async handle(call) {
      const { handle } = call.params;
      const { waitSeconds } = call.query;
      if (waitSeconds > 0) await waitForEnd(service, handle, waitSeconds * 1_000, call);
      return ok(detailBody(await service.status(handle, call.asker)));
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

export function runRoutes(service: RunService): readonly ApiRoute[] {
  return [listRoute, runRoute, transcriptRoute, timelineRoute, liveRoute, treeRoute].map((make) =>
    make(service),
  );
}
