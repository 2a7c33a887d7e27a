/** What Vercel's AI SDK does the same way with every provider. */
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { lookup, smoke, toolResult } from './smoke.mjs';

export async function smokeOfAiSdk(modelOf, providerOptions = {}) {
  const options = ({ model, prompt, headers }) => ({
    model: modelOf(model),
    prompt,
    headers,
    providerOptions,
    maxRetries: 0,
  });
  // A stream's errors come here and not as a rejection; unset, they are printed.
  const failed = (errors) => ({ onError: ({ error }) => errors.push(error) });
  await smoke({
    answer: async (call) => (await generateText(options(call))).text,
    stream: async (call) => {
      const errors = [];
      const pieces = [];
      for await (const piece of streamText({ ...options(call), ...failed(errors) }).textStream)
        pieces.push(piece);
      if (errors.length > 0) throw errors[0];
      return pieces;
    },
    loop: async (call) => {
      const calls = [];
      const execute = async () => {
        calls.push(lookup.name);
        return toolResult;
      };
      const loop = {
        ...options(call),
        stopWhen: stepCountIs(4),
        tools: {
          [lookup.name]: tool({
            description: lookup.description,
            inputSchema: jsonSchema(lookup.parameters),
            execute,
          }),
        },
      };
      const result = call.streaming ? streamText(loop) : await generateText(loop);
      const [text, steps] = [await result.text, await result.steps];
      return {
        text,
        calls,
        runs: steps.map(({ response }) => response.headers?.['x-fermata-run-id'] ?? null),
      };
    },
    describe: (error) => ({ name: error.name, status: error.statusCode, message: error.message }),
  });
}
