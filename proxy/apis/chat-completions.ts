/** OpenAI's `POST /v1/chat/completions`. */
import { z } from 'zod';
import { readConversation } from '../identity/conversation.ts';
import { ChatBodyReader, ChatStreamReader } from '../reply/chat-reply-readers.ts';
import { addField, parseJsonObject, setField } from '../request-body.ts';
import type { ApiDescriptor, TurnRequest } from './api-descriptor.ts';
import { parseFields } from './parse-fields.ts';

export const chatPath = '/v1/chat/completions';

/** Only what a turn needs to be known by; every other field is the engine's to judge. */
const chatRequestSchema = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.unknown()),
  stream: z.boolean().nullish(),
  tools: z.unknown().optional(),
  max_tokens: z.unknown().optional(),
  max_completion_tokens: z.unknown().optional(),
  stream_options: z.unknown().optional(),
});
type ChatRequest = z.infer<typeof chatRequestSchema>;

export const chatCompletions: ApiDescriptor = { name: 'chat', path: chatPath, readRequest };

function readRequest(body: Buffer): TurnRequest {
  const request = parseFields(chatRequestSchema, parseJsonObject(body));
  const withUsage = request.stream === true ? askForUsage(body, request.stream_options) : null;
  const { model, tools, messages } = request;
  return {
    api: 'chat',
    upstreamPath: chatPath,
    model,
    maxTokens: maxTokensOf(request),
    conversation: readConversation({ model, tools, messages }),
    bodyFor: () => withUsage ?? body,
    withholdUsage: withUsage !== null,
    class: null,
    translate: null,
    streamReader: () => new ChatStreamReader(),
    bodyReader: () => new ChatBodyReader(),
  };
}

function maxTokensOf(request: ChatRequest): number | null {
  const limit = request.max_completion_tokens ?? request.max_tokens;
  return typeof limit === 'number' && Number.isSafeInteger(limit) && limit >= 0 ? limit : null;
}

/** The body with usage asked for; null when the client asked itself, or wrote what an engine will refuse. */
function askForUsage(body: Buffer, options: unknown): Buffer | null {
  if (options === undefined) return addField(body, 'stream_options', '{"include_usage":true}');
  const given = options ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) return null;
  if ((given as Record<string, unknown>)['include_usage'] === true) return null;
  return setField(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }));
}
