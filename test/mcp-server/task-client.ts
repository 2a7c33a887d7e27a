/** Clients of the tasks extension: one that writes its requests itself, and the public requester package. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createApplicationInputHandler,
  createTaskSessionFromClient,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { z } from 'zod';
import { rawRequest, type RawAnswer, type RawOptions } from './raw-client.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

const taskFields = {
  resultType: z.string(),
  taskId: z.string(),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
  statusMessage: z.string(),
  createdAt: z.iso.datetime(),
  lastUpdatedAt: z.iso.datetime(),
  ttlMs: z.null(),
  pollIntervalMs: z.int().positive(),
};
const taskSchema = z.object({
  ...taskFields,
  result: z
    .object({ content: z.array(z.object({ text: z.string() })), structuredContent: z.unknown() })
    .optional(),
  inputRequests: z
    .record(z.string(), z.object({ method: z.string(), params: z.object({ message: z.string() }) }))
    .optional(),
});
export type SeenTask = z.infer<typeof taskSchema>;

export interface TaskClient {
  /** Calls `run`. */
  run(args: Record<string, unknown>): Promise<RawAnswer>;
  /** Calls `run` and takes the task that it is answered with. */
  start(args: Record<string, unknown>): Promise<SeenTask>;
  get(taskId: string): Promise<SeenTask>;
  /** Sends any request. */
  send(method: string, params: Record<string, unknown>): Promise<RawAnswer>;
}

function resultOf({ result, error }: RawAnswer): Record<string, unknown> {
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  return result ?? {};
}

/** @param options of each of its requests; it declares the extension and shows forms unless they say otherwise. */
export function taskClient(url: string, options: RawOptions = {}): TaskClient {
  const given = { forms: true, extensions: { [tasksExtension]: {} }, ...options };
  const send = async (method: string, params: Record<string, unknown>): Promise<RawAnswer> =>
    await rawRequest(url, method, params, given);
  const run = async (args: Record<string, unknown>): Promise<RawAnswer> =>
    await send('tools/call', { name: 'run', arguments: args });
  return {
    send,
    run,
    start: async (args) => taskSchema.parse(resultOf(await run(args))),
    get: async (taskId) => taskSchema.parse(resultOf(await send('tasks/get', { taskId }))),
  };
}

const requestSchema = z.object({ method: z.string(), params: z.record(z.string(), z.unknown()) });

export interface SessionOptions {
  readonly url: string;
  /** The person's answer to a form, by its message. */
  readonly answer: (message: string) => 'allow' | 'decline';
  readonly headers?: Record<string, string>;
}

/** A session of the public package on the public SDK; its requests go out by {@link rawRequest}. */
export async function connectTaskSession({
  url,
  answer,
  headers = {},
}: SessionOptions): Promise<{ readonly session: TaskEnabledSession; close(): Promise<void> }> {
  const info = { name: 'test-ext-tasks', version: '1.0.0' };
  const client = new Client(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const extensions = { [tasksExtension]: {} };
  const session = createTaskSessionFromClient(client, {
    endpointId: 'fermata',
    v2RequestFraming: {
      protocolVersion: '2026-07-28',
      clientInfo: info,
      clientCapabilities: { elicitation: {}, extensions },
    },
    async rawDispatch(request) {
      const { method, params } = requestSchema.parse(request);
      const { _meta, ...rest } = params;
      const { result, error } = await rawRequest(url, method, rest, { headers, forms: true, extensions });
      if (error !== undefined) return { kind: 'error', error: { code: error.code, message: error.message } };
      return { kind: 'result', result: JSON.parse(JSON.stringify(result)) };
    },
    onInputRequest: createApplicationInputHandler({
      elicitation({ params }) {
        const { message } = z.object({ message: z.string() }).parse(params);
        const isAllowed = answer(message) === 'allow';
        return isAllowed ? { action: 'accept', content: { allow: true } } : { action: 'decline' };
      },
      sampling: () => Promise.reject(new Error('asked for a sample')),
      roots: () => Promise.reject(new Error('asked for roots')),
    }),
  });
  return {
    session,
    async close() {
      await session.close();
      await client.close();
    },
  };
}
