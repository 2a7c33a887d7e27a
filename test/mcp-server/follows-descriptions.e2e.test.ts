/**
 * Promise: an agent that is only told "use the local sub-agents to look into these six rivers" finds the right
 * calls from the tools' descriptions alone, and would not find them if these lost what they say.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { planFanOut, type ListedTool } from './describing-model.ts';
import { toReply } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

const rivers = ['Elbe', 'Tagus', 'Volga', 'Rhine', 'Loire', 'Po'];

let stack: Stack;
let client: Client;
let tools: readonly ListedTool[];
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  const server = await stack.startServer();
  client = new Client({ name: 'reader', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
  tools = (await client.listTools()).tools;
});
afterAll(async () => {
  await client.close();
  await stack.close();
});

describe('a client that follows the descriptions alone', () => {
  it('starts six sub-agents for six rivers and gets the answers of all in one wait', async () => {
    const { start, collect } = planFanOut(tools);
    const called: string[] = [];
    const call = async (name: string, args: Record<string, unknown>) => {
      called.push(name);
      return toReply(await client.callTool({ name, arguments: args }));
    };
    const handles: string[] = [];
    for (const river of rivers) {
      const { text } = await call(start.tool, { [start.taskArgument]: stack.saying(`${river} is a river`) });
      handles.push(/\brun_\w{22}\b/.exec(text)?.[0] ?? '');
    }
    const { text, isError } = await call(collect.tool, { [collect.handlesArgument]: handles });
    expect(isError).toBe(false);
    for (const river of rivers) expect(text).toContain(`${river} is a river`);
    expect(called).toEqual([...rivers.map(() => 'spawn'), 'await']);
  });

  const mutants: readonly [string, string, RegExp, string, RegExp][] = [
    [
      'that starting does not wait',
      'spawn',
      /without waiting/g,
      'then',
      /starts a sub-agent without waiting/,
    ],
    ['that one wait follows all starts', 'spawn', /await ONCE/g, 'await', /wait once/],
    ['to pass all handles', 'await', /ALL the handles/g, 'a handle', /waits for many/],
    ['that one call takes them all', 'await', /one call/g, 'calls', /in one call/],
    ['whose runs are waited for', 'await', /spawn/g, 'elsewhere', /waits for many/],
  ];
  it.each(mutants)('is lost when they do not say %s', (_fact, name, what, instead, fault) => {
    const mutated = tools.map((tool) =>
      tool.name === name
        ? { ...tool, description: (tool.description ?? '').replaceAll(what, instead) }
        : tool,
    );
    expect(mutated).not.toEqual(tools);
    expect(() => planFanOut(mutated)).toThrow(fault);
  });

  it('is lost when a schema does not say which argument takes the handles or the task', () => {
    const without = (name: string): ListedTool[] =>
      tools.map((tool) => (tool.name === name ? { ...tool, inputSchema: {} } : tool));
    expect(() => planFanOut(without('await'))).toThrow(/takes the handles/);
    expect(() => planFanOut(without('spawn'))).toThrow(/takes the task/);
  });
});
