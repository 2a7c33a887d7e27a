/**
 * A client of 2026-07-28 with nothing but fetch: it writes the envelope of each request itself, reads the
 * stream that answers, and takes up a call that was answered with questions. Tests use it where they must
 * see or change what a package would hide.
 */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import {
  toReply,
  type AnswerForm,
  type CallOptions,
  type ConnectOptions,
  type TestClient,
} from './mcp-clients.ts';

export interface RawOptions extends CallOptions {
  readonly name?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
  readonly forms?: boolean | undefined;
  /** Extensions that the request declares, by name. */
  readonly extensions?: Readonly<Record<string, object>> | undefined;
}

const messageSchema = z.object({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});
export type RawAnswer = Pick<z.infer<typeof messageSchema>, 'result' | 'error'>;

const progressSchema = z.object({
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().optional(),
});

const version = '2026-07-28';
let nextId = 1;

/** @throws when the stream ends or falls silent for `timeout` without an answer, or `signal` is aborted. */
export async function rawRequest(
  url: string,
  method: string,
  params: Record<string, unknown>,
  options: RawOptions = {},
): Promise<RawAnswer> {
  const { name = 'test-raw', headers = {}, forms = false, extensions, onprogress } = options;
  const { timeout = 60_000 } = options;
  const id = nextId++;
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('broken off'));
  options.signal?.addEventListener('abort', leave, { once: true });
  if (options.signal?.aborted === true) leave();
  const silence = setTimeout(() => gone.abort(new Error(`nothing in ${timeout} ms`)), timeout);
  // What a request is about: a tool, or a task.
  const subject = params['name'] ?? params['taskId'];
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {
      ...(forms ? { elicitation: {} } : {}),
      ...(extensions === undefined ? {} : { extensions }),
    },
    ...(onprogress === undefined ? {} : { progressToken: `token-${id}` }),
  };
  try {
    const response = await fetch(url, {
      method: 'POST',
      signal: gone.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': method,
        ...(typeof subject === 'string' ? { 'mcp-name': subject } : {}),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      return messageSchema.parse(await response.json());
    }
    if (response.body === null) throw new Error('no body');
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { data } of events) {
      if (options.resetTimeoutOnProgress === true) silence.refresh();
      const message = messageSchema.parse(JSON.parse(data));
      if (message.method === 'notifications/progress') onprogress?.(progressSchema.parse(message.params));
      if (message.id === id) return message;
    }
    throw new Error('the stream ended without an answer');
  } finally {
    clearTimeout(silence);
    options.signal?.removeEventListener('abort', leave);
    gone.abort();
  }
}

export const questionsSchema = z.object({
  resultType: z.literal('input_required'),
  requestState: z.string(),
  inputRequests: z.record(
    z.string(),
    z.object({
      method: z.literal('elicitation/create'),
      params: z.object({ message: z.string(), requestedSchema: z.unknown() }),
    }),
  ),
});
export type Questions = z.infer<typeof questionsSchema>;

/** @returns the answers by the keys of the questions; rejects as the person does. */
async function ask(answer: AnswerForm, { inputRequests }: Questions, signal: AbortSignal) {
  const answers: Record<string, unknown> = {};
  for (const [key, { params }] of Object.entries(inputRequests)) {
    answers[key] = await answer({ ...params, signal });
  }
  return answers;
}

export function connectRaw(url: string, { name, headers, answer }: ConnectOptions = {}): TestClient {
  const gone = new AbortController();
  const given = { name, headers, forms: answer !== undefined };
  const request = async (method: string, params: Record<string, unknown>, options: CallOptions = {}) => {
    const signal =
      options.signal === undefined ? gone.signal : AbortSignal.any([gone.signal, options.signal]);
    const { result, error } = await rawRequest(url, method, params, { ...given, ...options, signal });
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    return { result, signal };
  };
  return {
    name: 'raw',
    async toolNames() {
      const { result } = await request('tools/list', {});
      const { tools } = z.object({ tools: z.array(z.object({ name: z.string() })) }).parse(result);
      return tools.map((tool) => tool.name);
    },
    async call(tool, args = {}, options = {}) {
      let params: Record<string, unknown> = { name: tool, arguments: args };
      for (;;) {
        const { result, signal } = await request('tools/call', params, options);
        const questions = questionsSchema.safeParse(result);
        if (!questions.success) return toReply(result);
        if (answer === undefined) throw new Error('asked without having said that it shows forms');
        const inputResponses = await ask(answer, questions.data, signal);
        const { requestState } = questions.data;
        params = { name: tool, arguments: args, inputResponses, requestState };
      }
    },
    close: async () => await Promise.resolve(gone.abort()),
    drop: async () => await Promise.resolve(gone.abort()),
  };
}
