/** Anthropic's JavaScript client (`@anthropic-ai/sdk`), the Messages API. */
import Anthropic from '@anthropic-ai/sdk';
import { lookup, proxyUrl, smoke, token, toolResult } from './smoke.mjs';

// The base URL is without /v1; `authToken` is sent as a bearer token, `apiKey` would be as x-api-key.
const client = new Anthropic({ baseURL: proxyUrl, authToken: token, apiKey: null, maxRetries: 0 });
const tools = [{ name: lookup.name, description: lookup.description, input_schema: lookup.parameters }];
const textOf = (message) =>
  message.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('');

await smoke({
  answer: async ({ prompt, headers, model }) =>
    textOf(
      await client.messages.create(
        { model, max_tokens: 256, messages: [{ role: 'user', content: prompt }] },
        { headers },
      ),
    ),
  stream: async ({ prompt, headers, model }) => {
    const pieces = [];
    const stream = client.messages.stream(
      { model, max_tokens: 256, messages: [{ role: 'user', content: prompt }] },
      { headers },
    );
    stream.on('text', (piece) => pieces.push(piece));
    await stream.finalMessage();
    return pieces;
  },
  loop: async ({ prompt, headers, streaming, model }) => {
    const runs = [];
    const next = async (messages) => {
      const request = { model, max_tokens: 256, messages, tools };
      if (streaming) {
        const { data, response } = await client.messages.stream(request, { headers }).withResponse();
        runs.push(response.headers.get('x-fermata-run-id'));
        return await data.finalMessage();
      }
      const { data, response } = await client.messages.create(request, { headers }).withResponse();
      runs.push(response.headers.get('x-fermata-run-id'));
      return data;
    };
    const messages = [{ role: 'user', content: prompt }];
    const reply = await next(messages);
    const uses = reply.content.filter((block) => block.type === 'tool_use');
    messages.push(
      { role: 'assistant', content: reply.content },
      {
        role: 'user',
        content: uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: toolResult })),
      },
    );
    return { text: textOf(await next(messages)), calls: uses.map(({ name }) => name), runs };
  },
  describe: (error) => ({ name: error.constructor.name, status: error.status, message: error.message }),
});
