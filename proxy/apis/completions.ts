/** OpenAI's `POST /v1/completions`: text goes on from a prompt. */
import { z } from 'zod';
import { countOf } from '../foreign-json.ts';
import { promptConversation } from '../identity/prompt-conversation.ts';
import { chatDialect } from '../reply/chat-replies.ts';
import { dialectReaders } from '../reply/dialect-readers.ts';
import { parseJsonObject } from '../request-body.ts';
import type { ApiDescriptor, TurnRequest } from './api-descriptor.ts';
import { askingBody, usageToAsk } from './ask-for-usage.ts';
import { parseFields } from './parse-fields.ts';

const path = '/v1/completions';

/** The prompt is the engine's to judge: some take embeddings in its place. */
const completionsRequestSchema = z.looseObject({
  model: z.string().min(1),
  prompt: z.unknown().optional(),
  stream: z.boolean().nullish(),
  max_tokens: z.unknown().optional(),
  stream_options: z.unknown().optional(),
});

const readers = dialectReaders(() => chatDialect);

export const completions: ApiDescriptor = { name: 'completions', path, readRequest };

function readRequest(body: Buffer): TurnRequest {
  const request = parseFields(completionsRequestSchema, parseJsonObject(body));
  const asked = usageToAsk(request);
  const { model } = request;
  return {
    api: 'completions',
    upstreamPath: path,
    model,
    maxTokens: countOf(request.max_tokens),
    conversation: promptConversation(model, request.prompt),
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
