/**
 * OpenAI's `POST /v1/completions`: one or several prompts, as texts or as token ids, each continued by the
 * script as if it were a user's only message. The prompt's tokens are its text's alone, so a prompt that
 * goes on from an earlier one and its reply is found in the cache. No tools; `echo` and `n` are left out.
 */
import { z } from 'zod';
import { hashText } from '../core/random.ts';
import { planReply, type ReplyPlan } from '../core/script.ts';
import { replyTokens } from '../core/conversation.ts';
import { dataEvent, nowSeconds, type ApiContext, type ApiRequest, type ReplyWriter } from './api.ts';
import { textOf } from './generative-reply.ts';
import { doneEvent, openAiUsage } from './openai-shapes.ts';
import { directivesOf, readBody, textMessage } from './read-body.ts';
import { inputsOf, textsSchema, tokensOf, type ReadText } from './reading.ts';

const bodySchema = z.looseObject({
  model: z.string().optional(),
  prompt: textsSchema,
  /** The default is OpenAI's. */
  max_tokens: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

const defaultMaxTokens = 16;

interface Prompt {
  readonly text: string;
  readonly tokens: readonly number[];
}

/** @throws BadRequest when `body` is no such request or holds a directive that cannot be read. */
export function readCompletions(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(bodySchema, body);
  const prompts = inputsOf(request.prompt).map(asPrompt);
  const maxTokens = request.max_tokens ?? defaultMaxTokens;
  const messages = prompts.map(({ text }) => textMessage('user', text));
  const directives = messages.map((message) => directivesOf([message]));
  const plans = messages.map((message, index) =>
    planReply(
      {
        messages: [message],
        tools: [],
        toolChoice: 'none',
        parallelToolCalls: false,
        maxTokens,
        responseSchema: null,
        directive: directives[index] ?? { from: 0 },
      },
      context.script,
    ),
  );
  const id = context.uniqueId('cmpl-');
  return {
    id,
    model: request.model ?? null,
    stream: request.stream ?? false,
    sequences: plans.map(({ pieces }, index) => ({
      promptTokens: prompts[index]?.tokens ?? [],
      outputTokens: replyTokens(pieces, []),
    })),
    faults: directives.flatMap(({ faults }) => faults ?? []),
    turn: 0,
    conversation: String(hashText(prompts.map(({ text }) => text).join('\n'))),
    finishReason: plans[0]?.finishReason ?? null,
    writer: completionsWriter(id, context.model, plans, request.stream_options?.include_usage ?? false),
  };
}

function asPrompt(given: ReadText): Prompt {
  return { text: typeof given === 'string' ? given : given.join(' '), tokens: tokensOf(given) };
}

function completionsWriter(
  id: string,
  model: string,
  plans: readonly ReplyPlan[],
  includeUsage: boolean,
): ReplyWriter {
  const head = { id, object: 'text_completion', created: nowSeconds(), model };
  const choice = (index: number, text: string, finish_reason: string | null): object => ({
    index,
    text,
    logprobs: null,
    finish_reason,
  });
  const chunk = (choices: readonly object[], usage: object | null): string =>
    dataEvent({ ...head, choices, ...(includeUsage ? { usage } : {}) });
  return {
    opensEarly: false,
    opening: () => [],
    token(sequence, index) {
      const piece = plans[sequence]?.pieces[index];
      return piece === undefined ? [] : [chunk([choice(sequence, textOf([piece]), null)], null)];
    },
    sequenceEnd: (sequence) => [chunk([choice(sequence, '', plans[sequence]?.finishReason ?? 'stop')], null)],
    closing: (usage) => [...(includeUsage ? [chunk([], openAiUsage(usage))] : []), doneEvent],
    body: (usage) => ({
      ...head,
      choices: plans.map(({ pieces, finishReason }, index) => choice(index, textOf(pieces), finishReason)),
      usage: openAiUsage(usage),
    }),
  };
}
