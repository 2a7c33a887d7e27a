/** Routes that change runs: start one, end one, decide a call that waits. */
import { z } from 'zod';
import { handleSchema } from '../../contracts/ids.ts';
import { decidedApprovalSchema, runStatusSchema } from '../../contracts/run.ts';
import type { Asker } from '../runs/asker.ts';
import { booleanFromText } from '../runs/lenient-arguments.ts';
import type { RunService } from '../runs/run-service.ts';
import { parseTraceparent } from '../../contracts/trace-context.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { spawnRequestSchema } from '../runs/spawn-request.ts';
import { traceCall } from '../runs/trace-call.ts';
import { UserFault } from '../runs/user-fault.ts';
import { ApiFault, errorBodySchema } from './api-fault.ts';
import { apiRoute, handleParam, ok, type ApiCall, type ApiRoute } from './api-route.ts';

const spawnAnswer = z.object({
  handle: handleSchema,
  status: runStatusSchema,
  existing: z.boolean().describe('The same requestId had started it before; nothing was started now.'),
  notes: z.array(z.string()).describe('What you should know, such as a model that could not be checked.'),
});

function spawnRoute(service: RunService, telemetry: Telemetry | null): ApiRoute {
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
      const isTraced = typeof traceparent === 'string' && parseTraceparent(traceparent) !== null;
      const traced = traceCall(telemetry, 'POST /api/runs', isTraced ? traceparent : undefined, {
        'http.request.method': 'POST',
        'http.route': '/api/runs',
        'fermata.caller': asker.caller,
      });
      try {
        const { handle, status, existing, notes } = await service.spawn(body, { asker, ...traced });
        traced.end({ 'fermata.run.id': handle }, null);
        return {
          status: existing ? 200 : 201,
          headers: { location: `/api/runs/${handle}` },
          body: { handle, status, existing, notes },
        };
      } catch (error) {
        traced.end({}, error instanceof UserFault ? 'fault' : 'error');
        throw error;
      }
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

export function changeRoutes(service: RunService, telemetry: Telemetry | null = null): readonly ApiRoute[] {
  return [spawnRoute(service, telemetry), cancelRoute(service), approvalRoute(service)];
}
