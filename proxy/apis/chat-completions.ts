/** OpenAI's `POST /v1/chat/completions`. */
import { z } from 'zod';
import { countOf } from '../foreign-json.ts';
import { chatConversation } from '../identity/chat-conversation.ts';
import { chatDialect } from '../reply/chat-replies.ts';
import { dialectReaders } from '../reply/dialect-readers.ts';
import { parseJsonObject } from '../request-body.ts';
import type { ApiDescriptor, TurnRequest } from './api-descriptor.ts';
import { askingBody, usageToAsk } from './ask-for-usage.ts';
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

const readers = dialectReaders(() => chatDialect);

export const chatCompletions: ApiDescriptor = { name: 'chat', path: chatPath, readRequest };

function readRequest(body: Buffer): TurnRequest {
  const request = parseFields(chatRequestSchema, parseJsonObject(body));
  const asked = usageToAsk(request);
  const { model, tools, messages } = request;
  return {
    api: 'chat',
    upstreamPath: chatPath,
    model,
    maxTokens: countOf(request.max_completion_tokens ?? request.max_tokens),
    conversation: chatConversation({ model, tools, messages }),
    bodyFor() {
      return askingBody(body, asked);
    },
    withholdUsage: asked !== null,
    class: null,
    translate: null,
    streamReader: readers.streamReader,
    bodyReader: readers.bodyReader,
  };
}
