/**
 * An agent with a loop of its own, written with the openai package. It names its run, its class and itself
 * in three headers: then its turns are one run to fermata, with a place on one engine while the tool works.
 *
 *   npx tsx examples/openai/agent.ts
 */
import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';

const proxy = process.env['FERMATA_PROXY_URL'] ?? 'http://127.0.0.1:8080';
const task = process.env['TASK'] ?? 'Look up the rivers Nile and Congo, and say which is longer.';
const run = `example-${randomUUID()}`;

const client = new OpenAI({
  baseURL: `${proxy}/v1`,
  apiKey: process.env['FERMATA_TOKEN'] ?? 'unused',
  defaultHeaders: {
    'x-fermata-run-id': run,
    'x-fermata-class': 'interactive',
    'x-fermata-caller': 'examples',
  },
});

const lookup: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'lookup',
    description: 'Looks a topic up in an encyclopedia.',
    parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
  },
};

/** Where a real agent would ask something else; the engine is free for others meanwhile. */
async function answerOf(topic: string): Promise<string> {
  await new Promise((resume) => setTimeout(resume, 200));
  return `${topic}: a large river of Africa.`;
}

const model = process.env['MODEL'] ?? (await client.models.list()).data[0]?.id ?? '';
const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: task }];
for (;;) {
  const { choices } = await client.chat.completions.create({ model, messages, tools: [lookup] });
  const message = choices[0]?.message;
  if (message === undefined) throw new Error('an answer without a choice');
  messages.push(message);
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) {
    console.log(message.content);
    break;
  }
  for (const call of calls) {
    if (call.type !== 'function') continue;
    console.log(`${call.function.name} ${call.function.arguments}`);
    const { topic = '' } = JSON.parse(call.function.arguments) as { topic?: string };
    messages.push({ role: 'tool', tool_call_id: call.id, content: await answerOf(topic) });
  }
}
console.log(`run ${run}`);
