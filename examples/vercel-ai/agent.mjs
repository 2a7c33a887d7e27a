/**
 * The Vercel AI SDK with its model on fermata's proxy.
 *
 *   npm --prefix examples/vercel-ai start
 */
import { randomUUID } from 'node:crypto';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

const proxy = process.env.FERMATA_PROXY_URL ?? 'http://127.0.0.1:8080';
const token = process.env.FERMATA_TOKEN ?? 'unused';
const task = process.env.TASK ?? 'Look up the rivers Nile and Congo, and say which is longer.';
const run = `example-${randomUUID()}`;

const models = await fetch(`${proxy}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
const model = process.env.MODEL ?? (await models.json()).data[0].id;

const fermata = createOpenAICompatible({ name: 'fermata', baseURL: `${proxy}/v1`, apiKey: token });

const { text } = await generateText({
  model: fermata(model),
  prompt: task,
  // All steps of this call are one run.
  headers: {
    'x-fermata-run-id': run,
    'x-fermata-class': 'interactive',
    'x-fermata-caller': 'examples',
  },
  tools: {
    lookup: tool({
      description: 'Looks a topic up in an encyclopedia.',
      inputSchema: z.object({ topic: z.string() }),
      execute: ({ topic }) => {
        console.log(`lookup ${topic}`);
        return `${topic}: a large river of Africa.`;
      },
    }),
  },
  stopWhen: stepCountIs(10),
});
console.log(text);
console.log(`run ${run}`);
