/**
 * The same agent without any header: nothing of it knows of fermata but the address. The proxy recognises
 * the run by the tool-call ids and the conversation that each turn sends back, and says which run it is.
 *
 *   npx tsx examples/no-headers/agent.ts
 */
import OpenAI from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';

const proxy = process.env['FERMATA_PROXY_URL'] ?? 'http://127.0.0.1:8080';
const task = process.env['TASK'] ?? 'Look up the rivers Nile and Congo, and say which is longer.';

const client = new OpenAI({ baseURL: `${proxy}/v1`, apiKey: process.env['FERMATA_TOKEN'] ?? 'unused' });

const lookup: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'lookup',
    description: 'Looks a topic up in an encyclopedia.',
    parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
  },
};

const model = process.env['MODEL'] ?? (await client.models.list()).data[0]?.id ?? '';
const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: task }];
const runs = new Set<string | null>();
for (;;) {
  const { data, response } = await client.chat.completions
    .create({ model, messages, tools: [lookup] })
    .withResponse();
  runs.add(response.headers.get('x-fermata-run-id'));
  const message = data.choices[0]?.message;
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
    messages.push({ role: 'tool', tool_call_id: call.id, content: 'A large river of Africa.' });
  }
}
console.log(`run ${[...runs].join(' ')}`);
