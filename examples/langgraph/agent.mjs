/**
 * A graph of LangGraph.js: a model, its tools, and back, with the model on fermata's proxy.
 *
 *   npm --prefix examples/langgraph start
 */
import { randomUUID } from 'node:crypto';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const proxy = process.env.FERMATA_PROXY_URL ?? 'http://127.0.0.1:8080';
const token = process.env.FERMATA_TOKEN ?? 'unused';
const task = process.env.TASK ?? 'Look up the rivers Nile and Congo, and say which is longer.';
const run = `example-${randomUUID()}`;

const models = await fetch(`${proxy}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
const model = process.env.MODEL ?? (await models.json()).data[0].id;

const lookup = tool(
  ({ topic }) => {
    console.log(`lookup ${topic}`);
    return `${topic}: a large river of Africa.`;
  },
  {
    name: 'lookup',
    description: 'Looks a topic up in an encyclopedia.',
    schema: z.object({ topic: z.string() }),
  },
);

const chat = new ChatOpenAI({
  model,
  apiKey: token,
  configuration: {
    baseURL: `${proxy}/v1`,
    defaultHeaders: {
      'x-fermata-run-id': run,
      'x-fermata-class': 'interactive',
      'x-fermata-caller': 'examples',
    },
  },
}).bindTools([lookup]);

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await chat.invoke(messages)] }))
  .addNode('tools', new ToolNode([lookup]))
  .addEdge('__start__', 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile();

const { messages } = await graph.invoke({ messages: [{ role: 'user', content: task }] });
console.log(messages.at(-1).text);
console.log(`run ${run}`);
