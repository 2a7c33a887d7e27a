import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { wellWorded } from '../../mcp-server/mcp/argument-words.ts';
import { defineTools } from '../../mcp-server/mcp/tool-definitions.ts';
import type { RunService } from '../../mcp-server/runs/run-service.ts';

const tools = defineTools({
  service: {} as RunService,
  states: { mint: async () => await Promise.resolve('') },
});

/** What is wrong with them; null: nothing. */
async function faultOf(name: string, given: unknown): Promise<string | null> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  const { issues } = { issues: undefined, ...(await wellWorded(tool.input)['~standard'].validate(given)) };
  return issues?.map(({ message }) => message).join('\n') ?? null;
}

const taken =
  'It takes: task (required), model, serviceClass, system, maxToolCalls, tools, maxTokens, parallelToolCalls, approveTools, parent, budgetTokens, budgetToolCalls, budgetSeconds, requestId';
const handle = 'run_0000000000000000000000';

describe('arguments that are wrong', () => {
  it.each([
    ['spawn', {}, `task is missing. ${taken}`],
    ['spawn', { prompt: 'x' }, `task is missing; no argument is called 'prompt'. ${taken}`],
    ['tools', { server: 'x' }, "no argument is called 'server'. It takes no arguments"],
    ['status', { handle: '' }, 'handle: '],
    ['await', { handle }, "handles is missing; no argument is called 'handle'. It takes: handles (required)"],
    [
      'await',
      { handles: Array.from({ length: 101 }, () => handle) },
      'await 100 handles at most in one call',
    ],
    ['await', { handles: [] }, 'handles: '],
    ['await', { handles: [handle], mode: 'first' }, 'mode: Invalid option: expected one of'],
    [
      'await',
      { handles: [handle], timeoutSeconds: 601 },
      'timeoutSeconds: Too big: expected number to be <=600',
    ],
    ['approve', { handle }, 'allow is missing. It takes: handle (required), allow (required), approvalId'],
    ['approve', { handle, allow: 'perhaps' }, 'allow: Invalid input: expected boolean'],
    ['cancel', null, 'Invalid input'],
    ['cancel', 'x', 'Invalid input'],
    ['decide', { input: 'x', labels: ['a'] }, 'labels: Too small'],
    ['decide', { input: 'x', labels: ['a', 'b'.repeat(201)] }, 'labels.1: Too big'],
  ])('of %s are told by name, with what there is: %o', async (name, given, words) => {
    expect(await faultOf(name, given)).toContain(words);
  });

  it.each(['', ' ', '\n\t  '])('are a task without a word: %j', async (task) => {
    expect(await faultOf('spawn', { task })).toContain(
      'task: says nothing; write what the sub-agent shall do',
    );
    expect(await faultOf('run', { task })).toContain('task: ');
  });

  it('are told shortly, however many and however long', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => ['k'.repeat(300) + index, 1]),
    );
    const text = (await faultOf('spawn', { task: 'x', ...many })) ?? '';
    expect(text).toContain('(and 4995 more)');
    expect(text.length).toBeLessThan(1_000);
    const wrong = await faultOf('await', { handles: Array.from({ length: 100 }, () => 5) });
    expect(wrong).toContain('and 92 more faults');
    expect(wrong?.length).toBeLessThan(4_000);
  });
});

describe('arguments that are right', () => {
  it('may be null where they may be left out', async () => {
    expect(await faultOf('status', { handle: null })).toBeNull();
    expect(await faultOf('spawn', { task: 'x', model: null, tools: null, budgetTokens: null })).toBeNull();
    expect(await faultOf('spawn', { task: null })).toContain('task is missing');
  });

  it('come out as the tool reads them', async () => {
    const [, awaitTool] = tools;
    if (awaitTool === undefined) throw new Error('no await');
    const read = await wellWorded(awaitTool.input)['~standard'].validate({
      handles: handle,
      timeoutSeconds: '3',
    });
    expect(read).toEqual({ value: { handles: [handle], mode: 'all', timeoutSeconds: 3 } });
  });

  it.each(tools)('of $name have the JSON schema of the tool', (tool) => {
    const schema = wellWorded(tool.input)['~standard'].jsonSchema.input({ target: 'draft-2020-12' });
    expect(schema).toEqual(z.toJSONSchema(tool.input, { io: 'input' }));
  });
});
