import { describe, expect, it } from 'vitest';
import type { Caller, ReplicaId, RunId } from '../../../contracts/ids.ts';
import type { Conversation } from '../../../proxy/identity/conversation.ts';
import { responsesConversation } from '../../../proxy/identity/responses-conversation.ts';
import { RunMemory } from '../../../proxy/identity/run-memory.ts';

type Json = Record<string, unknown>;

function read(
  input: unknown,
  more: { instructions?: unknown; tools?: unknown; previousResponse?: unknown } = {},
): Conversation {
  return responsesConversation({
    model: 'm',
    instructions: more.instructions,
    tools: more.tools,
    input,
    previousResponse: more.previousResponse,
  });
}

const user = (content: unknown): Json => ({ role: 'user', content });
const assistant = (text: string, more: Json = {}): Json => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
});
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' };
const call = (id: unknown, type = 'function_call'): Json => ({
  type,
  call_id: id,
  name: 'f',
  arguments: '{}',
});
const output = (id: unknown, type = 'function_call_output'): Json => ({ type, call_id: id, output: 'r' });

describe('the conversation of responses', () => {
  it('is the same whether a text, a message or a list of one part says it', () => {
    const plain = read('hello');
    expect(read([user('hello')])).toEqual(plain);
    expect(read([{ type: 'message', ...user([{ type: 'input_text', text: 'hello' }]) }])).toEqual(plain);
  });

  it('goes on when ids, states and reasoning are left out of what is sent back', () => {
    const sparse = read([user('a'), assistant('b'), user('c')]);
    const full = read([
      user('a'),
      reasoning,
      assistant('b', { id: 'msg_1', status: 'completed' }),
      { ...user('c'), id: 'msg_2' },
    ]);
    expect(full).toEqual(sparse);
  });

  it('hashes a beginning as the request that was answered there', () => {
    const first = [user('a')];
    const second = [
      ...first,
      reasoning,
      assistant('one moment'),
      call('x'),
      call('y'),
      output('x'),
      output('y'),
    ];
    const third = [...second, call('z', 'custom_tool_call'), output('z', 'custom_tool_call_output')];
    expect(read(third).answered).toEqual([read(second).whole, read(first).whole]);
    expect(read(second).answered).toEqual([read(first).whole]);
  });

  it.each([
    ['function_call', 'function_call_output'],
    ['custom_tool_call', 'custom_tool_call_output'],
    ['local_shell_call', 'local_shell_call_output'],
    ['computer_call', 'computer_call_output'],
    ['apply_patch_call', 'apply_patch_call_output'],
  ])('has the results of a %s', (callType, outputType) => {
    const before = [user('q')];
    const { toolResults } = read([...before, reasoning, call('x', callType), output('x', outputType)]);
    expect(toolResults).toEqual({ before: read(before).whole, ids: ['x'] });
  });

  it('has the results of a shell by the id of its call, and answers to an approval by that of the question', () => {
    const shell = [
      user('q'),
      call('x', 'local_shell_call'),
      { type: 'local_shell_call_output', id: 'x', output: '' },
    ];
    expect(read(shell).toolResults?.ids).toEqual(['x']);
    const approval = [
      user('q'),
      { type: 'mcp_approval_request', id: 'apr_1', name: 'f' },
      { type: 'mcp_approval_response', approval_request_id: 'apr_1', approve: true },
    ];
    expect(read(approval).toolResults?.ids).toEqual(['apr_1']);
  });

  it('is read whatever stands in it: unknown types are input like any other', () => {
    const odd = [
      null,
      5,
      'text',
      {},
      { type: 'of_tomorrow', x: 1 },
      { type: 7 },
      { role: 'user' },
      output(7),
    ];
    const { answered, toolResults } = read([...odd, assistant('b'), ...odd], { instructions: 5, tools: 'x' });
    expect(answered).toEqual([read(odd, { instructions: 5 }).whole]);
    expect(toolResults).toBeNull();
    for (const input of [undefined, null, 5, {}, []]) expect(read(input).answered).toEqual([]);
  });

  it('is another under other instructions', () => {
    expect(read('a', { instructions: 'one' }).whole).not.toBe(read('a', { instructions: 'two' }).whole);
  });

  it('counts inlined images and files at a flat rate, also in results of tools', () => {
    const url = `data:image/png;base64,${'A'.repeat(1_000_000)}`;
    const image = { type: 'input_image', image_url: url };
    const { promptTokens } = read([
      user([image, { type: 'input_file', file_data: url }]),
      call('x'),
      { type: 'function_call_output', call_id: 'x', output: [image] },
      { type: 'computer_call_output', call_id: 'y', output: { type: 'computer_screenshot', image_url: url } },
      { type: 'image_generation_call', id: 'ig_1', result: url },
    ]);
    expect(promptTokens).toBeGreaterThan(5_000);
    expect(promptTokens).toBeLessThan(5_300);
  });
});

describe('a request that goes on from a stored response', () => {
  const caller = 'c' as Caller;
  const memoryOf = (runs: Record<string, string>): RunMemory => {
    const memory = new RunMemory({ maxEntries: 100, lifetimeMs: 100 });
    for (const [run, responseId] of Object.entries(runs)) {
      memory.remember(caller, `whole of ${run}`, { toolCallIds: [], responseId }, run as RunId, 0);
    }
    return memory;
  };
  const next = read('go on', { previousResponse: 'resp_1' });

  it('leads back to the run that emitted it', () => {
    const memory = memoryOf({ 'run-A': 'resp_1', 'run-B': 'resp_2' });
    expect(memory.find(caller, next, 0)).toEqual({ run: 'run-A', by: 'response' });
    expect(memory.find('other' as Caller, next, 0)).toBeNull();
    expect(memory.find(caller, next, 100)).toBeNull();
  });

  it('names no run when two have emitted it, or none', () => {
    expect(memoryOf({ 'run-A': 'resp_1', 'run-B': 'resp_1' }).find(caller, next, 0)).toBeNull();
    expect(memoryOf({ 'run-A': 'resp_2' }).find(caller, next, 0)).toBeNull();
  });

  it('goes to the replica that emitted it, unless two have', () => {
    const memory = memoryOf({});
    const emitted = (id: string, run: string, replica: string): void =>
      memory.remember(
        caller,
        `whole of ${id}`,
        { toolCallIds: [], responseId: id },
        run as RunId,
        0,
        replica as ReplicaId,
      );
    emitted('resp_1', 'run-A', 'r1');
    emitted('resp_2', 'run-A', 'r2');
    emitted('resp_2', 'run-A', 'r1');
    expect(memory.keeperOf(caller, 'resp_1', 0)).toBe('r1');
    expect(memory.keeperOf(caller, 'resp_2', 0)).toBeNull();
    expect(memory.keeperOf(caller, 'resp_3', 0)).toBeNull();
    expect(memory.keeperOf('other' as Caller, 'resp_1', 0)).toBeNull();
  });

  it('is told apart by the conversation that the engine stores, which names no run', () => {
    const stored = (conversation: unknown): Conversation =>
      responsesConversation({
        model: 'm',
        instructions: null,
        tools: null,
        input: 'go on',
        previousResponse: null,
        conversation,
      });
    expect(stored('conv_1')).toEqual(stored({ id: 'conv_1' }));
    expect(stored('conv_1').whole).not.toBe(stored('conv_2').whole);
    expect(memoryOf({ 'run-A': 'conv_1' }).find(caller, stored('conv_1'), 0)).toBeNull();
    expect(stored(null).previousResponse).toBeNull();
  });

  it('is not taken for another with the same words after another response', () => {
    const memory = memoryOf({});
    memory.remember(caller, next.whole, { toolCallIds: ['x'], responseId: null }, 'run-A' as RunId, 0);
    const later = [user('go on'), call('x'), output('x')];
    expect(memory.find(caller, read(later), 0)).toBeNull();
    expect(memory.find(caller, read(later, { previousResponse: 'resp_2' }), 0)).toBeNull();
    expect(memory.find(caller, read(later, { previousResponse: 'resp_1' }), 0)?.run).toBe('run-A');
  });

  it.each([null, 7, '', {}])('is none when its id is %j', (previousResponse) => {
    expect(read('go on', { previousResponse })).toEqual(read('go on'));
  });
});
