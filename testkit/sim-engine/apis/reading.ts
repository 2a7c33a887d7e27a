/**
 * What the APIs share that read texts and produce none: each text is one sequence, of which the engine
 * computes the prompt and the one token that ends it.
 */
import { z } from 'zod';
import { hashText } from '../core/random.ts';
import { tokenIds } from '../core/tokens.ts';
import { bodyOnly, type ApiContext, type ApiRequest, type ReplyUsage } from './api.ts';
import { directivesOf, textMessage } from './read-body.ts';

const tokensSchema = z.array(z.int().min(0)).min(1);

/** One text or several, each as it is or as token ids; OpenAI's bound on how many. */
export const textsSchema = z.union([
  z.string(),
  tokensSchema,
  z.array(z.string()).min(1).max(2_048),
  z.array(tokensSchema).min(1).max(2_048),
]);

/** One text to read, or one that the client has already cut into tokens. */
export type ReadText = string | readonly number[];

/** What such an input holds, one after the other. */
export function inputsOf(input: z.infer<typeof textsSchema>): ReadText[] {
  if (typeof input === 'string') return [input];
  const tokens = input.filter((part) => typeof part === 'number');
  return tokens.length > 0 ? [tokens] : input.filter((part) => typeof part !== 'number');
}

/** Words of `text` in lower case. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

export function tokensOf(text: ReadText): readonly number[] {
  if (typeof text !== 'string') return text;
  const tokens = tokenIds(text);
  return tokens.length > 0 ? tokens : [hashText('')];
}

/**
 * A request that reads.
 * @param sequences what is read together: a query and a document are one sequence.
 * @throws BadRequest for a directive that cannot be read.
 */
export function readingRequest(
  model: string | undefined,
  idPrefix: string,
  sequences: readonly (readonly ReadText[])[],
  context: ApiContext,
  body: (id: string, usage: ReplyUsage) => object,
): ApiRequest {
  const id = context.uniqueId(idPrefix);
  const texts = sequences.flat().filter((text) => typeof text === 'string');
  return {
    id,
    model: model ?? null,
    stream: false,
    sequences: sequences.map((parts) => ({
      promptTokens: parts.flatMap(tokensOf),
      outputTokens: [hashText('<end>')],
    })),
    faults: directivesOf(texts.map((text) => textMessage('user', text))).faults ?? [],
    turn: 0,
    conversation: String(hashText(texts.join('\n'))),
    finishReason: null,
    writer: bodyOnly((usage) => body(id, usage)),
  };
}
