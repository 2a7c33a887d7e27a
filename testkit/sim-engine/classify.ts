/**
 * `/classify` of a one-shot engine, in vLLM's shape. The label is the one that the input names, else one
 * drawn from the input's hash; a `[[sim {"decide": {label: probability}}]]` directive sets it exactly.
 */
import { z } from 'zod';
import { BadRequest } from './chat-request.ts';
import { DirectiveFault, readDirectives } from './core/directives.ts';
import { hashText } from './core/random.ts';
import { tokenize } from './core/tokens.ts';

const bodySchema = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.string()).min(1)]),
});

export interface Classification {
  readonly model: string | null;
  readonly response: object;
}

/** @throws BadRequest when `body` is no classify request. */
export function classify(
  body: unknown,
  labels: readonly string[],
  model: string,
  id: string,
): Classification {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) throw new BadRequest(400, 'input: expected a text or a list of texts');
  const inputs = [parsed.data.input].flat();
  const promptTokens = inputs.reduce((sum, input) => sum + tokenize(input).length, 0);
  return {
    model: parsed.data.model ?? null,
    response: {
      id,
      object: 'list',
      created: Math.floor(Date.now() / 1_000),
      model,
      data: inputs.map((input, index) => {
        const probs = probabilities(input, labels);
        return {
          index,
          label: labels[probs.indexOf(Math.max(...probs))],
          probs,
          num_classes: labels.length,
        };
      }),
      usage: {
        prompt_tokens: promptTokens,
        total_tokens: promptTokens,
        completion_tokens: 0,
        prompt_tokens_details: null,
      },
    },
  };
}

function probabilities(input: string, labels: readonly string[]): number[] {
  const directed = directedProbabilities(input);
  if (directed !== undefined) return labels.map((label) => directed[label] ?? 0);
  const text = input.toLowerCase();
  const weights = labels.map((label) =>
    text.includes(label.toLowerCase()) ? 100 : 1 + (hashText(text + label) % 10),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

function directedProbabilities(input: string): Readonly<Record<string, number>> | undefined {
  try {
    return readDirectives([{ role: 'user', text: input, toolCalls: [], toolCallId: null }]).decide;
  } catch (error) {
    if (error instanceof DirectiveFault) throw new BadRequest(400, error.message);
    throw error;
  }
}
