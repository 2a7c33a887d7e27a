/**
 * `POST /v1/embeddings` in OpenAI's shape. A vector is the sum of one direction for each word, scaled to
 * length 1: the same text always has the same one, and texts that share words lie close together.
 */
import { z } from 'zod';
import { withoutDirectives } from '../core/directives.ts';
import { createGenerator, hashText, nextRandom } from '../core/random.ts';
import { BadRequest, type ApiContext, type ApiRequest } from './api.ts';
import { readingUsage } from './openai-shapes.ts';
import { readBody } from './read-body.ts';
import { inputsOf, readingRequest, textsSchema, tokensOf, wordsOf, type ReadText } from './reading.ts';

/** Numbers in a vector. */
export const embeddingDimensions = 64;

const bodySchema = z.looseObject({
  model: z.string().optional(),
  input: textsSchema,
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
});

/** @throws BadRequest when `body` is no such request, or wants more dimensions than there are. */
export function readEmbeddings(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(bodySchema, body);
  const dimensions = request.dimensions ?? embeddingDimensions;
  if (dimensions > embeddingDimensions) {
    throw new BadRequest(400, `dimensions: expected at most ${embeddingDimensions}`);
  }
  const inputs = inputsOf(request.input);
  const sequences = inputs.map((input) => [input]);
  return readingRequest(request.model, 'embd-', sequences, context, (id, usage) => ({
    id,
    object: 'list',
    model: context.model,
    data: inputs.map((input, index) => {
      const vector = embeddingOf(input, dimensions);
      const embedding = request.encoding_format === 'base64' ? asBase64(vector) : vector;
      return { object: 'embedding', index, embedding };
    }),
    usage: readingUsage(usage),
  }));
}

function embeddingOf(text: ReadText, dimensions: number): number[] {
  const words = typeof text === 'string' ? wordsOf(withoutDirectives(text)) : text.map(String);
  const sum = Array.from({ length: dimensions }, () => 0);
  for (const word of words.length > 0 ? words : tokensOf(text).map(String)) {
    const generator = createGenerator(hashText(word));
    for (let index = 0; index < dimensions; index += 1) {
      sum[index] = (sum[index] ?? 0) + nextRandom(generator) * 2 - 1;
    }
  }
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => value / length);
}

/** 32-bit floats, little-endian, as OpenAI sends them. */
function asBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}
