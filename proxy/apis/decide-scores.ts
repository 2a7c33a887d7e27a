/** From an engine's reply to the answer of `/v1/decide`. Pure; the reply is foreign and parsed leniently. */
import { z } from 'zod';
import type { DecideResponse } from '../../contracts/decide.ts';
import { Fault } from '../faults.ts';

const logprobSchema = z.looseObject({ token: z.string(), logprob: z.number() });
type Logprob = z.infer<typeof logprobSchema>;

const scoredReplySchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        logprobs: z.looseObject({
          content: z.array(logprobSchema.extend({ top_logprobs: z.array(logprobSchema).default([]) })).min(1),
        }),
      }),
    )
    .min(1),
});

/**
 * The labels weighed by the first token's log-probabilities. A token counts for the label it equals, else
 * for the label it begins; what begins several labels is shared evenly among them, because the token
 * does not tell them apart. Case and surrounding punctuation do not matter.
 * @param reply a chat completion with `logprobs`.
 * @throws Fault `engine_unreachable` when the reply covers no label.
 */
export function scoreLabels(reply: Buffer, labels: readonly string[]): DecideResponse {
  const parsed = scoredReplySchema.safeParse(parseReply(reply));
  const first = parsed.success ? parsed.data.choices[0]?.logprobs.content[0] : undefined;
  if (first === undefined) throw noScores('the engine gave no log-probabilities');
  const candidates = first.top_logprobs.length > 0 ? first.top_logprobs : [first];
  const weights = new Map<string, number>();
  for (const candidate of candidates) {
    const meant = labelsMeant(candidate, labels);
    for (const label of meant) {
      weights.set(label, (weights.get(label) ?? 0) + Math.exp(candidate.logprob) / meant.length);
    }
  }
  if (weights.size === 0) throw noScores('the log-probabilities of the engine cover none of the labels');
  return normalised(weights, labels);
}

function labelsMeant(candidate: Logprob, labels: readonly string[]): string[] {
  const token = bare(candidate.token);
  if (token === '') return [];
  const equal = labels.filter((label) => bare(label) === token);
  return equal.length > 0 ? equal : labels.filter((label) => bare(label).startsWith(token));
}

function bare(text: string): string {
  return text.toLowerCase().replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
}

function normalised(weights: ReadonlyMap<string, number>, labels: readonly string[]): DecideResponse {
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const scored = labels.filter((label) => weights.has(label));
  const shares = scored.map((label) => [label, share(weights.get(label) ?? 0, total)] as const);
  const [best] = shares.toSorted(([, a], [, b]) => b - a);
  return {
    label: best?.[0] ?? '',
    probabilities: Object.fromEntries(shares),
    unscored: labels.filter((label) => !weights.has(label)),
  };
}

function share(weight: number, total: number): number {
  return total > 0 ? weight / total : 0;
}

const classificationSchema = z.looseObject({
  data: z.array(z.looseObject({ label: z.string(), probs: z.array(z.number()).nullish() })).min(1),
});

/**
 * vLLM's classification reply names only the likeliest label; the others are told by their index, in the
 * form that models without label names use (`LABEL_2`).
 * @throws Fault `engine_unreachable` when the reply is none.
 */
export function scoreClassification(reply: Buffer): DecideResponse {
  const parsed = classificationSchema.safeParse(parseReply(reply));
  const first = parsed.success ? parsed.data.data[0] : undefined;
  if (first === undefined) throw noScores('the engine gave no classification');
  const probs = first.probs ?? [];
  const best = probs.indexOf(Math.max(...probs));
  const named = probs.map((probability, index) => [
    index === best ? first.label : `LABEL_${index}`,
    probability,
  ]);
  return {
    label: first.label,
    probabilities:
      probs.length === 0 ? { [first.label]: 1 } : (Object.fromEntries(named) as Record<string, number>),
    unscored: [],
  };
}

function parseReply(reply: Buffer): unknown {
  try {
    return JSON.parse(reply.toString('utf8'));
  } catch {
    return null;
  }
}

function noScores(message: string): Fault {
  return new Fault('engine_unreachable', message);
}
