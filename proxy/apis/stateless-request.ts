/**
 * What the endpoints without a conversation have in common: embeddings, reranking, scores. Of the body only
 * the model is read; its bytes, the path's query and the reply go through as they are.
 */
import { z } from 'zod';
import type { Api } from '../../contracts/config-file.ts';
import type { Conversation } from '../identity/conversation.ts';
import { UsageReader } from '../reply/usage-reader.ts';
import { parseJsonObject } from '../request-body.ts';
import type { TurnRequest } from './api-descriptor.ts';
import { parseFields } from './parse-fields.ts';

/** Engines that serve one model do not ask for its name; then whatever the pool serves may answer. */
const namedModelSchema = z.looseObject({ model: z.string().min(1).nullish() });

const bytesPerToken = 4;

const usageReader = (): UsageReader => new UsageReader();

/** @throws Fault `invalid_json` or `invalid_request`. */
export function readStatelessRequest(
  api: Api,
  upstreamPath: TurnRequest['upstreamPath'],
  body: Buffer,
): TurnRequest {
  const { model } = parseFields(namedModelSchema, parseJsonObject(body));
  return {
    api,
    upstreamPath,
    model: model ?? null,
    maxTokens: 0,
    conversation: noConversation(Math.ceil(body.length / bytesPerToken)),
    bodyFor() {
      return body;
    },
    withholdUsage: false,
    class: null,
    runState: 'none',
    translate: null,
    streamReader: usageReader,
    bodyReader: usageReader,
  };
}

/** Nothing of it is recognised again, and no cache is looked for. */
function noConversation(promptTokens: number): Conversation {
  return { prefix: [], promptTokens, whole: '', answered: [], toolResults: null, previousResponse: null };
}
