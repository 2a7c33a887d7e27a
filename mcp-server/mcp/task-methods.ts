/**
 * `tasks/get`, `tasks/update` and `tasks/cancel` of the extension `io.modelcontextprotocol/tasks`, for
 * requests that declare it: each is one look at the run, or one message to it. A task of another caller is
 * unknown, like one that never was.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Asker } from '../runs/asker.ts';
import type { RunService } from '../runs/run-service.ts';
import type { RunView } from '../runs/run-view.ts';
import { UserFault } from '../runs/user-fault.ts';
import { allowedBy } from './approval-form.ts';
import { taskOf, tasksExtension, type Task } from './task-state.ts';
import type { ToolCall } from './tool-call.ts';

/** Does `work` as one of the calls in progress, which a stop of the server waits for. */
export type InProgress = <T>(context: ServerContext, work: (call: ToolCall) => Promise<T>) => Promise<T>;

type TaskService = Pick<RunService, 'await' | 'approve' | 'cancel'>;

const declaredSchema = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    extensions: z.object({ [tasksExtension]: z.record(z.string(), z.unknown()) }),
  }),
});

/** Only a request of 2026-07-28 carries what its client can do; before, there was no such extension. */
export function declaresTasks({ mcpReq }: ServerContext): boolean {
  return declaredSchema.safeParse(mcpReq.envelope).success;
}

/** @throws UserFault for an unknown handle. */
async function readRun(service: TaskService, handle: string, { asker, signal }: ToolCall): Promise<RunView> {
  const stopAt = { kind: 'opened', except: new Set<string>() } as const;
  const query = { handles: [handle], mode: 'all', timeoutMs: 0, asker, stopAt } as const;
  const [run] = (await service.await(query, signal)).runs;
  if (run === undefined) throw new Error(`await told nothing of ${handle}`);
  return run;
}

/** @throws UserFault for an unknown handle. */
export async function readTask(service: TaskService, handle: string, call: ToolCall): Promise<Task> {
  return taskOf(await readRun(service, handle, call), call.asking !== undefined, new Date());
}

const taskIdSchema = z.looseObject({ taskId: z.string() });

/** Most answers that one update takes; a run has at most so many calls that wait. */
const maxAnswers = 64;

export function addTaskMethods(server: McpServer, service: TaskService, inProgress: InProgress): void {
  const serve = async <T>(context: ServerContext, work: (call: ToolCall) => Promise<T>): Promise<T> => {
    if (!declaresTasks(context)) {
      throw new MissingRequiredClientCapabilityError(
        { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
        `the request does not declare the extension ${tasksExtension}`,
      );
    }
    try {
      return await inProgress(context, work);
    } catch (error) {
      throw protocolErrorOf(error);
    }
  };
  server.server.setRequestHandler(
    'tasks/get',
    { params: taskIdSchema },
    async ({ taskId }, context) =>
      await serve(context, async (call) => ({ ...(await readTask(service, taskId, call)) })),
  );
  server.server.setRequestHandler(
    'tasks/update',
    { params: taskIdSchema },
    async ({ taskId }, context) =>
      await serve(context, async (call) => {
        // The SDK takes them out of the parameters, as it does for a call that is made again.
        const { inputResponses } = context.mcpReq;
        if (inputResponses === undefined) {
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'tasks/update needs inputResponses');
        }
        await takeAnswers(service, await readRun(service, taskId, call), inputResponses, call.asker);
        return {};
      }),
  );
  server.server.setRequestHandler(
    'tasks/cancel',
    { params: taskIdSchema },
    async ({ taskId }, context) =>
      await serve(context, async ({ asker }) => {
        await service.cancel(taskId, undefined, asker);
        return {};
      }),
  );
}

/** What does not wait any more, never waited, or is no answer to a form changes nothing. */
async function takeAnswers(
  service: TaskService,
  run: RunView,
  answers: Readonly<Record<string, unknown>>,
  asker: Asker,
): Promise<void> {
  const open = run.pendingApprovals.filter(({ id }) => Object.hasOwn(answers, id)).slice(0, maxAnswers);
  // One after the other: a run takes ten at once at most.
  for (const { id } of open) {
    const allow = allowedBy(answers[id]);
    if (allow === null) continue;
    try {
      await service.approve(run.handle, allow, id, asker);
    } catch (error) {
      // It ended meanwhile, or nobody knows this call any more.
      if (!(error instanceof UserFault) || error.kind === 'busy') throw error;
    }
  }
}

/** Of the user's faults only an unknown task is one of the request. */
function protocolErrorOf(error: unknown): unknown {
  if (!(error instanceof UserFault)) return error;
  const code = error.kind === 'busy' ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
  return new ProtocolError(code, error.message);
}
