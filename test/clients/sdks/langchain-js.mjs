/** LangChain's JavaScript client (`@langchain/openai`), chat completions. */
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { lookup, proxyUrl, smoke, token, toolResult } from './smoke.mjs';

const clientOf = (model, headers) =>
  new ChatOpenAI({
    model,
    apiKey: token,
    maxRetries: 0,
    configuration: { baseURL: `${proxyUrl}/v1`, defaultHeaders: headers },
  });

async function gathered(stream) {
  let whole = null;
  for await (const chunk of stream) whole = whole === null ? chunk : whole.concat(chunk);
  return whole;
}

await smoke({
  answer: async ({ prompt, headers, model }) => (await clientOf(model, headers).invoke(prompt)).text,
  stream: async ({ prompt, headers, model }) => {
    const pieces = [];
    for await (const chunk of await clientOf(model, headers).stream(prompt)) pieces.push(chunk.text);
    return pieces.filter((piece) => piece !== '');
  },
  loop: async ({ prompt, headers, streaming, model }) => {
    const client = clientOf(model, headers).bindTools([{ type: 'function', function: lookup }]);
    const next = async (messages) =>
      streaming ? await gathered(await client.stream(messages)) : await client.invoke(messages);
    const messages = [new HumanMessage(prompt)];
    const reply = await next(messages);
    messages.push(reply);
    for (const call of reply.tool_calls ?? []) {
      messages.push(new ToolMessage({ tool_call_id: call.id, content: toolResult }));
    }
    const last = await next(messages);
    return { text: last.text, calls: (reply.tool_calls ?? []).map(({ name }) => name), runs: null };
  },
  describe: (error) => ({ name: error.name, status: error.status, message: error.message }),
});
