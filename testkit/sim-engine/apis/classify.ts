/**
 * `/classify` of a one-shot engine, in vLLM's shape. The label is the one that the input names, else one
 * drawn from the input's hash; a `[[sim {"decide": {label: probability}}]]` directive sets it exactly.
 */
import { z } from 'zod';
import { hashText } from '../core/random.ts';
import { nowSeconds, type ApiContext, type ApiRequest } from './api.ts';
import { readingUsage } from './openai-shapes.ts';
import { directivesOf, readBody, textMessage } from './read-body.ts';
import { readingRequest } from './reading.ts';

const bodySchema = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.string()).min(1)], 'expected a text or a list of texts'),
});

/** @throws BadRequest when `body` is no classify request. */
export function readClassify(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(bodySchema, body);
  const { labels, model } = context;
  const inputs = [request.input].flat();
  const data = inputs.map((input, index) => {
    const probs = probabilities(input, labels);
    const label = labels[probs.indexOf(Math.max(...probs))];
    return { index, label, probs, num_classes: labels.length };
  });
  const sequences = inputs.map((input) => [input]);
  return readingRequest(request.model, 'classify-', sequences, context, (id, usage) => ({
    id,
    object: 'list',
    created: nowSeconds(),
    model,
    data,
    usage: readingUsage(usage),
  }));
}

function probabilities(input: string, labels: readonly string[]): number[] {
  const directed = directivesOf([textMessage('user', input)]).decide;
  if (directed !== undefined) return labels.map((label) => directed[label] ?? 0);
  const text = input.toLowerCase();
  const weights = labels.map((label) =>
    text.includes(label.toLowerCase()) ? 100 : 1 + (hashText(text + label) % 10),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
