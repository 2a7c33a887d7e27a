/**
 * `/rerank` and `/score` in vLLM's shapes. How well a text fits another is the share of the first one's
 * different words that occur in the second, with a small part drawn from both, so that ties are rare.
 */
import { z } from 'zod';
import { withoutDirectives } from '../core/directives.ts';
import { hashText } from '../core/random.ts';
import { BadRequest, nowSeconds, type ApiContext, type ApiRequest } from './api.ts';
import { readingUsage } from './openai-shapes.ts';
import { readBody } from './read-body.ts';
import { readingRequest, wordsOf } from './reading.ts';

const maxTexts = 2_048;
const documentSchema = z.union([
  z.string(),
  z.looseObject({ text: z.string() }).transform(({ text }) => text),
]);

const rerankSchema = z.looseObject({
  model: z.string().optional(),
  query: z.string(),
  documents: z.array(documentSchema).min(1).max(maxTexts),
  /** 0: all. */
  top_n: z.int().min(0).nullish(),
});

/** @throws BadRequest when `body` is no such request. */
export function readRerank(body: unknown, context: ApiContext): ApiRequest {
  const { model, query, documents, top_n: limit } = readBody(rerankSchema, body);
  const results = documents
    .map((text, index) => ({ index, document: { text }, relevance_score: fit(query, text) }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, limit === null || limit === undefined || limit === 0 ? documents.length : limit);
  const sequences = documents.map((text) => [query, text]);
  return readingRequest(model, 'rerank-', sequences, context, (id, usage) => ({
    id,
    model: context.model,
    usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens },
    results,
  }));
}

const textsSchema = z.union([z.string(), z.array(z.string()).min(1).max(maxTexts)]);
const scoreSchema = z.looseObject({
  model: z.string().optional(),
  text_1: textsSchema.optional(),
  text_2: textsSchema.optional(),
  /** Other names of the two. */
  queries: textsSchema.optional(),
  documents: textsSchema.optional(),
});

/** @throws BadRequest when `body` is no such request: one text against several, or as many against as many. */
export function readScore(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(scoreSchema, body);
  const first = [request.text_1 ?? request.queries ?? []].flat();
  const second = [request.text_2 ?? request.documents ?? []].flat();
  if (first.length === 0) throw new BadRequest(400, 'text_1: expected a text or a list of texts');
  if (second.length === 0) throw new BadRequest(400, 'text_2: expected a text or a list of texts');
  if (first.length > 1 && first.length !== second.length) {
    throw new BadRequest(400, `text_1: ${first.length} texts do not match the ${second.length} of text_2`);
  }
  const pairs = second.map((text, index) => [first[index] ?? first[0] ?? '', text] as const);
  return readingRequest(request.model, 'score-', pairs, context, (id, usage) => ({
    id,
    object: 'list',
    created: nowSeconds(),
    model: context.model,
    data: pairs.map(([one, other], index) => ({ index, object: 'score', score: fit(one, other) })),
    usage: readingUsage(usage),
  }));
}

function fit(query: string, text: string): number {
  const wanted = new Set(wordsOf(withoutDirectives(query)));
  const present = new Set(wordsOf(withoutDirectives(text)));
  const shared = [...wanted].filter((word) => present.has(word)).length;
  const drawn = (hashText(`${query}\n${text}`) % 1_000) / 1_000;
  return 0.01 + 0.9 * (wanted.size === 0 ? 0 : shared / wanted.size) + 0.05 * drawn;
}
