/** OpenAI's `POST /v1/responses`, which Codex speaks. Its usage is always reported. */
import { z } from 'zod';
import { countOf } from '../foreign-json.ts';
import { responsesConversation } from '../identity/responses-conversation.ts';
import { responsesDialect } from '../reply/responses-replies.ts';
import { dialectReaders } from '../reply/dialect-readers.ts';
import { parseJsonObject } from '../request-body.ts';
import type { ApiDescriptor, TurnRequest } from './api-descriptor.ts';
import { parseFields } from './parse-fields.ts';

const path = '/v1/responses';

/** Without a model the pool's replicas decide, as a stored prompt may name one. */
const responsesRequestSchema = z.looseObject({
  model: z.string().min(1).nullish(),
  input: z.unknown().optional(),
  instructions: z.unknown().optional(),
  tools: z.unknown().optional(),
  previous_response_id: z.unknown().optional(),
  conversation: z.unknown().optional(),
  background: z.unknown().optional(),
  max_output_tokens: z.unknown().optional(),
});

/** What it goes on with is kept by one replica, or it is answered before it is done. */
function isRepeatable(request: z.infer<typeof responsesRequestSchema>): boolean {
  const { previous_response_id: previous, conversation, background } = request;
  return (previous ?? conversation ?? null) === null && background !== true;
}

const readers = dialectReaders(() => responsesDialect);

export const responses: ApiDescriptor = { name: 'responses', path, readRequest };

function readRequest(body: Buffer): TurnRequest {
  const request = parseFields(responsesRequestSchema, parseJsonObject(body));
  const model = request.model ?? null;
  const { instructions, tools, input, conversation, previous_response_id: previousResponse } = request;
  return {
    api: 'responses',
    upstreamPath: path,
    model,
    maxTokens: countOf(request.max_output_tokens),
    conversation: responsesConversation({
      model,
      instructions,
      tools,
      input,
      previousResponse,
      conversation,
    }),
    bodyFor() {
      return body;
    },
    withholdUsage: false,
    ...(isRepeatable(request) ? {} : { repeatable: false as const }),
    class: null,
    translate: null,
    streamReader: readers.streamReader,
    bodyReader: readers.bodyReader,
  };
}
