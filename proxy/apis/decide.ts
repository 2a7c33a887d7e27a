/**
 * `POST /v1/decide`: one classification. Without labels it is a one-shot replica's `/classify` (vLLM's
 * classification API); with labels it is one generative token, scored from its log-probabilities. Either
 * way it is a turn like any other on its way; only its request is ours and its reply is translated.
 */
import { decideRequestSchema, type DecideRequest } from '../../contracts/decide.ts';
import type { PoolReplica } from '../../contracts/link-protocol.ts';
import { chatConversation } from '../identity/chat-conversation.ts';
import { chatDialect } from '../reply/chat-replies.ts';
import { dialectReaders } from '../reply/dialect-readers.ts';
import { parseJsonObject } from '../request-body.ts';
import type { ApiDescriptor, TurnRequest } from './api-descriptor.ts';
import { chatPath } from './chat-completions.ts';
import { scoreClassification, scoreLabels } from './decide-scores.ts';
import { parseFields } from './parse-fields.ts';

/** The most that the OpenAI API lets one ask for, and as many as there may be labels. */
const topLogprobs = 20;

const readers = dialectReaders(() => chatDialect);

export const decide: ApiDescriptor = { name: 'decide', path: '/v1/decide', readRequest };

function readRequest(body: Buffer): TurnRequest {
  const request = parseFields(decideRequestSchema, parseJsonObject(body));
  const { labels } = request;
  const shared = {
    model: request.model ?? null,
    withholdUsage: false,
    class: null,
    streamReader: readers.streamReader,
    bodyReader: readers.bodyReader,
  } as const;
  if (labels === undefined) {
    return {
      ...shared,
      api: 'classify',
      upstreamPath: '/classify',
      maxTokens: 0,
      runState: 'none',
      conversation: chatConversation({ model: shared.model, tools: undefined, messages: [request.input] }),
      bodyFor: (replica) => json({ model: modelOn(replica, request), input: request.input }),
      translate: (reply) => JSON.stringify(scoreClassification(reply)),
    };
  }
  const messages = [
    { role: 'system', content: instruction(labels) },
    { role: 'user', content: request.input },
  ];
  return {
    ...shared,
    api: 'chat',
    upstreamPath: chatPath,
    maxTokens: 1,
    runState: 'own',
    conversation: chatConversation({ model: shared.model, tools: undefined, messages }),
    bodyFor: (replica) =>
      json({
        model: modelOn(replica, request),
        messages,
        max_tokens: 1,
        temperature: 0,
        logprobs: true,
        top_logprobs: topLogprobs,
      }),
    translate: (reply) => JSON.stringify(scoreLabels(reply, labels)),
  };
}

function instruction(labels: readonly string[]): string {
  return `Classify the user's text. Answer with exactly one of these labels and nothing else: ${labels.join(', ')}`;
}

function modelOn(replica: PoolReplica, request: DecideRequest): string | undefined {
  return request.model ?? replica.models[0];
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
