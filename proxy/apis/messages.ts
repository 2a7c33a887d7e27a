/** Anthropic's `POST /v1/messages`, which Claude Code speaks. Its usage is always reported. */
import { z } from 'zod';
import { countOf } from '../foreign-json.ts';
import { messagesConversation } from '../identity/messages-conversation.ts';
import { messagesDialect } from '../reply/messages-replies.ts';
import { dialectReaders } from '../reply/dialect-readers.ts';
import { parseJsonObject } from '../request-body.ts';
import type { ApiDescriptor, TurnRequest } from './api-descriptor.ts';
import { parseFields } from './parse-fields.ts';

export const messagesPath = '/v1/messages';

/** What a request and a count of its tokens have in common. */
export const messagesRequestSchema = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.unknown()),
  system: z.unknown().optional(),
  tools: z.unknown().optional(),
  max_tokens: z.unknown().optional(),
});

const readers = dialectReaders(messagesDialect);

export const messages: ApiDescriptor = { name: 'messages', path: messagesPath, readRequest };

function readRequest(body: Buffer): TurnRequest {
  const request = parseFields(messagesRequestSchema, parseJsonObject(body));
  return {
    api: 'messages',
    upstreamPath: messagesPath,
    model: request.model,
    maxTokens: countOf(request.max_tokens),
    conversation: messagesConversation(request),
    bodyFor() {
      return body;
    },
    withholdUsage: false,
    class: null,
    translate: null,
    streamReader: readers.streamReader,
    bodyReader: readers.bodyReader,
  };
}
