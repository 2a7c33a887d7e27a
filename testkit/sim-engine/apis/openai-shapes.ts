/** JSON that several of OpenAI's APIs share. */
import type { ReplyUsage } from './api.ts';

/** The end of a stream of chat or text completions. */
export const doneEvent = 'data: [DONE]\n\n';

export function openAiUsage({ promptTokens, cachedTokens, outputTokens }: ReplyUsage): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    ...(cachedTokens === null ? {} : { prompt_tokens_details: { cached_tokens: cachedTokens } }),
  };
}

/** Of what reads and does not write: the token that the engine ends it with is nobody's. */
export function readingUsage({ promptTokens }: ReplyUsage): object {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens,
    completion_tokens: 0,
    prompt_tokens_details: null,
  };
}
