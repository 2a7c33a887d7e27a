/**
 * The OpenAI Agents SDK with its models on fermata's proxy. The headers are those of the client, so each
 * run of an agent gets a client of its own.
 *
 *   npm --prefix examples/openai-agents start
 */
import { randomUUID } from 'node:crypto';
import { Agent, OpenAIChatCompletionsModel, run as runAgent, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

const proxy = process.env.FERMATA_PROXY_URL ?? 'http://127.0.0.1:8080';
const task = process.env.TASK ?? 'Look up the rivers Nile and Congo, and say which is longer.';
const run = `example-${randomUUID()}`;

// Else it sends traces to its maker.
setTracingDisabled(true);

const client = new OpenAI({
  baseURL: `${proxy}/v1`,
  apiKey: process.env.FERMATA_TOKEN ?? 'unused',
  defaultHeaders: {
    'x-fermata-run-id': run,
    'x-fermata-class': 'interactive',
    'x-fermata-caller': 'examples',
  },
});
const model = process.env.MODEL ?? (await client.models.list()).data[0].id;

const lookup = tool({
  name: 'lookup',
  description: 'Looks a topic up in an encyclopedia.',
  parameters: z.object({ topic: z.string() }),
  execute: ({ topic }) => {
    console.log(`lookup ${topic}`);
    return `${topic}: a large river of Africa.`;
  },
});

const agent = new Agent({
  name: 'Geographer',
  instructions: 'Answer in one sentence.',
  model: new OpenAIChatCompletionsModel(client, model),
  tools: [lookup],
});
const { finalOutput } = await runAgent(agent, task);
console.log(finalOutput);
console.log(`run ${run}`);
