import { describe, expect, it } from 'vitest';
import type { CollectedCall, CollectedReply } from '../../../activities/model-turn/collect-reply.ts';
import { readReply, type ReadReply } from '../../../activities/model-turn/read-reply.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { ChatMessage } from '../../../contracts/chat-messages.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';

const validate = createValidator();
const writeFile: ListedTool = {
  name: 'write_file',
  server: 'fs',
  serverTool: 'write_file',
  description: '',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, text: { type: 'string' } },
    required: ['path', 'text'],
  },
  annotations: {},
};

function reply(part: Partial<CollectedReply>): CollectedReply {
  return {
    content: '',
    calls: [],
    finishReason: 'tool_calls',
    model: 'm',
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    ...part,
  };
}

function read(
  part: Partial<CollectedReply>,
  transcript: readonly ChatMessage[] = [],
  tools = [writeFile],
): ReadReply {
  return readReply(reply(part), { turn: 3, tools, transcript, validate });
}

const call = (id: string, text: string, name = 'write_file'): CollectedCall => ({
  id,
  name,
  arguments: text,
});
const whole = '{"path":"a.md","text":"all"}';

describe('calls that a token limit has cut (A12)', () => {
  it.each([
    ['labelled length', 'length'],
    ['relabelled as tool calls', 'tool_calls'],
    ['labelled stop', 'stop'],
  ])('are refused as cut off, %s', (_name, finishReason) => {
    const { calls, message } = read({
      finishReason,
      calls: [call('c1', '{"path":"n.md","text":"# Title\\nfirst')],
    });
    expect(calls).toHaveLength(1);
    expect(calls[0]?.refusal).toMatchObject({
      kind: 'cut-off',
      text: expect.stringContaining('cut off') as string,
    });
    expect(message.tool_calls?.[0]?.function.arguments).toBe('{}');
  });

  it('are refused even where the text happens to be complete', () => {
    const { calls } = read({
      finishReason: 'length',
      calls: [call('c1', whole), call('c2', '{"path":"b.md","te')],
    });
    expect(calls.map((one) => one.refusal?.kind)).toEqual(['cut-off', 'cut-off']);
  });
});

describe('a call', () => {
  it('that fits goes on as the model wrote it', () => {
    expect(read({ calls: [call('c1', whole)] })).toEqual({
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'write_file', arguments: whole } }],
      },
      calls: [{ id: 'c1', name: 'write_file' }],
    });
  });

  it('that had to be mended runs with the mended arguments and keeps the written ones in the transcript', () => {
    const written = '{"arguments":{"path":"a","text":1.10}}';
    const { message, calls } = read({ calls: [call('c1', written)] });
    expect(message.tool_calls?.[0]?.function.arguments).toBe(written);
    expect(calls).toEqual([{ id: 'c1', name: 'write_file', arguments: '{"path":"a","text":"1.10"}' }]);
  });

  it('that was nearly JSON stands in the transcript as JSON', () => {
    const { message } = read({ calls: [call('c1', `{'path': 'a', 'text': 'b'}`)] });
    expect(message.tool_calls?.[0]?.function.arguments).toBe('{"path":"a","text":"b"}');
  });

  it.each([
    ['generic_command', 'generic_command'],
    ['', 'invalid_name'],
    ['no such tool!', 'invalid_name'],
  ])('of the unknown tool %j is refused, under a name that engines take back', (name, shown) => {
    const { message, calls } = read({ calls: [call('u1', '{}', name)] });
    expect(calls[0]).toMatchObject({ id: 'u1', name, refusal: { kind: 'unknown-tool' } });
    expect(message.tool_calls?.[0]?.function.name).toBe(shown);
  });

  it('keeps its id where that is usable and new, and gets one where it is not', () => {
    const before: ChatMessage[] = [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'write_file', arguments: '{}' } }],
      },
    ];
    const given = ['call_0', 'fresh', 'fresh', '', 'with space', 'x'.repeat(80)];
    const { calls, message } = read({ calls: given.map((id) => call(id, whole)) }, before);
    const ids = calls.map((one) => one.id);
    expect(ids[1]).toBe('fresh');
    expect(new Set([...ids, 'call_0']).size).toBe(given.length + 1);
    expect(ids.filter((id) => id !== 'fresh')).toSatisfy((all: string[]) =>
      all.every((id) => /^[a-z0-9]{9}$/.test(id)),
    );
    expect(message.tool_calls?.map((one) => one.id)).toEqual(ids);
  });
});

describe('a call written as text', () => {
  const tagged = '<tool_call>{"name": "write_file", "arguments": {"path": "a", "text": "b"}}</tool_call>';

  it('is recovered when tools were offered', () => {
    const { message, calls } = read({ content: `On it. ${tagged}`, finishReason: 'stop' });
    expect(message.content).toBe('On it.');
    expect(calls).toMatchObject([{ name: 'write_file' }]);
    expect(message.tool_calls).toHaveLength(1);
  });

  it('stays text when none were offered, or beside structured calls (A17)', () => {
    expect(read({ content: tagged, finishReason: 'stop' }, [], []).calls).toEqual([]);
    const structured = call('d1', JSON.stringify({ path: 'FORMAT.md', text: tagged }));
    const { calls, message } = read({ content: tagged, calls: [structured] });
    expect(calls).toEqual([{ id: 'd1', name: 'write_file' }]);
    expect(message.content).toBe(tagged);
  });
});
