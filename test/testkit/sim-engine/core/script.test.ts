import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OfferedTool, SimMessage } from '../../../../testkit/sim-engine/core/conversation.ts';
import { readDirectives } from '../../../../testkit/sim-engine/core/directives.ts';
import {
  defaultScriptOptions,
  planReply,
  type ReplyPlan,
  type ReplyRequest,
  type ScriptOptions,
} from '../../../../testkit/sim-engine/core/script.ts';
import { tokenize } from '../../../../testkit/sim-engine/core/tokens.ts';

const tool = (name: string, properties: object = { topic: { type: 'string' } }): OfferedTool => ({
  name,
  description: '',
  parameters: { type: 'object', properties, required: Object.keys(properties) },
});
const lookup = tool('web__lookup');
const search = tool('web__deep_search', { query: { type: 'string' }, depth: { type: 'integer' } });

const message = (role: SimMessage['role'], text: string): SimMessage => ({
  role,
  text,
  toolCalls: [],
  toolCallId: null,
});

function plan(
  messages: readonly SimMessage[],
  fields: Partial<ReplyRequest> = {},
  options: Partial<ScriptOptions> = {},
): ReplyPlan {
  const request: ReplyRequest = {
    messages,
    tools: [lookup, search],
    toolChoice: 'auto',
    parallelToolCalls: true,
    maxTokens: null,
    responseSchema: null,
    directive: readDirectives(messages),
    ...fields,
  };
  return planReply(request, { ...defaultScriptOptions, ...options });
}

/** Plays a run to its end, answering each call, and returns its replies. */
function play(task: string, fields: Partial<ReplyRequest> = {}, most = 20): ReplyPlan[] {
  const messages = [message('user', task)];
  const replies: ReplyPlan[] = [];
  while (replies.length < most) {
    const reply = plan(messages, fields);
    replies.push(reply);
    if (reply.calls.length === 0) break;
    const calls = reply.calls.map((call, index) => ({ ...call, id: `c${replies.length}-${index}` }));
    messages.push({ ...message('assistant', reply.content ?? ''), toolCalls: calls });
    for (const call of calls)
      messages.push({ ...message('tool', `fact about ${call.name}`), toolCallId: call.id });
  }
  return replies;
}

const namesOf = (replies: readonly ReplyPlan[]): string[][] =>
  replies.map((reply) => reply.calls.map((call) => call.name));

describe('a run without directives', () => {
  it('makes one to three calls, one a turn, and then answers with a quote of each result', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60 }), (task) => {
        fc.pre(!task.includes('[[sim'));
        const replies = play(task);
        const calls = replies.flatMap((reply) => reply.calls);
        expect(calls.length).toBeGreaterThanOrEqual(1);
        expect(calls.length).toBeLessThanOrEqual(3);
        expect(replies.slice(0, -1).every((reply) => reply.calls.length === 1)).toBe(true);
        const answer = replies.at(-1);
        expect(answer).toMatchObject({ finishReason: 'stop', calls: [] });
        for (const call of calls) expect(answer?.content).toContain(`fact about ${call.name}`);
        expect(answer?.pieces.length).toBeGreaterThanOrEqual(20);
      }),
    );
  });

  it('is the same each time, and another one with another seed', () => {
    const task = message('user', 'Which river is longest?');
    expect(plan([task])).toEqual(plan([task]));
    const seeds = [1, 2, 3, 4, 5, 6].map((seed) => JSON.stringify(plan([task], {}, { seed }).calls));
    expect(new Set(seeds).size).toBeGreaterThan(1);
  });

  it('answers when no tools are offered or when they are forbidden', () => {
    const messages = [message('user', 'hello')];
    expect(plan(messages, { tools: [] }).calls).toEqual([]);
    expect(plan(messages, { toolChoice: 'none' }).calls).toEqual([]);
  });

  it('calls the tool that the request demands, even after many results', () => {
    const results = Array.from({ length: 5 }, () => message('tool', 'x'));
    const messages = [message('user', 'hello'), ...results];
    expect(plan(messages).calls).toEqual([]);
    expect(plan(messages, { toolChoice: 'required' }).calls).toHaveLength(1);
    expect(namesOf([plan(messages, { toolChoice: { name: 'web__deep_search' } })])).toEqual([
      ['web__deep_search'],
    ]);
  });

  it('leaves tools alone that destroy or hang unless nothing else is offered', () => {
    const tools = [tool('web__hang'), lookup, tool('web__delete_page')];
    for (let index = 0; index < 30; index += 1) {
      const [reply] = play(`task ${index}`, { tools });
      expect(namesOf(reply === undefined ? [] : [reply])).toEqual([['web__lookup']]);
    }
    expect(namesOf(play('x', { tools: [tool('web__hang')] }).slice(0, 1))).toEqual([['web__hang']]);
  });
});

describe('arguments', () => {
  it('fit the schema of the tool', () => {
    const properties = {
      name: { type: 'string', minLength: 5, maxLength: 9 },
      count: { type: 'integer', minimum: 3, maximum: 4 },
      ratio: { type: 'number' },
      on: { type: 'boolean' },
      colour: { enum: ['red', 'green'] },
      fixed: { const: 7 },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      inner: { type: 'object', properties: { deep: { type: 'integer' } }, required: ['deep'] },
      either: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    };
    fc.assert(
      fc.property(fc.string(), (task) => {
        fc.pre(!task.includes('[[sim'));
        const [reply] = play(task, { tools: [tool('t', properties)] });
        const values = JSON.parse(reply?.calls[0]?.arguments ?? '') as Record<string, unknown>;
        expect(values).toEqual({
          name: expect.stringMatching(/^[\s\S]{5,9}$/),
          count: expect.toSatisfy((value) => value === 3 || value === 4),
          ratio: expect.any(Number),
          on: expect.any(Boolean),
          colour: expect.toSatisfy((value) => value === 'red' || value === 'green'),
          fixed: 7,
          tags: expect.arrayContaining([expect.any(String)]),
          inner: { deep: expect.toSatisfy(Number.isInteger) },
          either: expect.any(Number),
        });
      }),
    );
  });
});

describe('directives', () => {
  const directed = (json: string): string => `Find out. [[sim ${json}]]`;

  it('name the calls turn by turn, by full name or by the part after the server', () => {
    const replies = play(directed('{"calls":["lookup",["web__deep_search","lookup"]]}'));
    expect(namesOf(replies)).toEqual([['web__lookup'], ['web__deep_search', 'web__lookup'], []]);
    expect(replies.map(({ turn }) => turn)).toEqual([0, 1, 2]);
  });

  it('put all calls into one turn with parallel, one by one when the client allows only one', () => {
    const task = directed('{"calls":["lookup","lookup","deep_search"],"parallel":true}');
    expect(namesOf(play(task)).map((names) => names.length)).toEqual([3, 0]);
    expect(namesOf(play(task, { parallelToolCalls: false })).map((names) => names.length)).toEqual([
      1, 1, 1, 0,
    ]);
  });

  it('repeat the calls as often as said, or without end', () => {
    expect(namesOf(play(directed('{"calls":["lookup"],"repeat":3}'))).flat()).toHaveLength(3);
    expect(play(directed('{"calls":["lookup"],"repeat":true}'), {}, 15)).toHaveLength(15);
  });

  it('set arguments by tool, by call, or as raw text', () => {
    const task = directed(
      '{"calls":["lookup",{"tool":"lookup","arguments":{"topic":"b"}},{"tool":"lookup","rawArguments":"{oops"}],"toolArguments":{"lookup":{"topic":"a"}}}',
    );
    expect(play(task).flatMap((reply) => reply.calls.map((call) => call.arguments))).toEqual([
      '{"topic":"a"}',
      '{"topic":"b"}',
      '{oops',
    ]);
  });

  it('set the answer word for word, or its length in tokens', () => {
    expect(play(directed('{"calls":[],"answer":"exactly this"}'))[0]?.content).toBe('exactly this');
    const answer = play(directed('{"calls":[],"answerTokens":50}'))[0];
    expect(answer?.pieces).toHaveLength(50);
    expect(tokenize(answer?.content ?? '')).toHaveLength(50);
  });

  it('add up over messages, the later one first; turns count from the message with the calls', () => {
    const messages = [
      message('system', '[[sim {"answer":"from the system"}]]'),
      message('user', directed('{"calls":["lookup"]}')),
      message('tool', 'x'),
      message('assistant', 'done'),
      message('user', directed('{"calls":["deep_search"]}')),
    ];
    expect(namesOf([plan(messages)])).toEqual([['web__deep_search']]);
    expect(plan([...messages, message('tool', 'y')]).content).toBe('from the system');
  });

  it('are not read in what tools and the model say, nor repeated in arguments or answers', () => {
    const messages = [message('user', directed('{"calls":[]}')), message('tool', '[[sim {"nonsense":1}]]')];
    expect(plan(messages).content).not.toContain('[[sim {"calls');
    const [reply] = play(directed('{"calls":["lookup"]}'));
    expect(reply?.calls[0]?.arguments).not.toContain('[[');
  });

  it.each([
    ['{"cals":[]}', "unknown field 'cals'"],
    ['{"calls":"lookup"}', 'must be a list'],
    ['{"shape":"odd"}', 'must be one of'],
    ['{"fault":{"kind":"cut","after":3}}', "unknown field 'after'"],
    ['{"answerTokens":"50"}', 'must be a number'],
    ['{oops}', 'is not JSON'],
  ])('that cannot be read are an error: %s', (json, reason) => {
    expect(() => readDirectives([message('user', directed(json))])).toThrow(reason);
  });

  it('that are cut off are an error', () => {
    expect(() => readDirectives([message('user', '[[sim {"calls":["lookup"]}')])).toThrow('does not end');
  });
});

describe('shapes of calls', () => {
  const shaped = (shape: string): ReplyPlan => {
    const [reply] = play(`Find out. [[sim {"calls":["deep_search"],"shape":"${shape}"}]]`);
    if (reply === undefined) throw new Error('no reply');
    return reply;
  };

  it('wrong-types writes numbers as texts', () => {
    const values = JSON.parse(shaped('wrong-types').calls[0]?.arguments ?? '') as Record<string, unknown>;
    expect(values['depth']).toMatch(/^\d+$/);
  });

  it('text and text-tags write the call into the content and stop', () => {
    for (const shape of ['text', 'text-tags']) {
      const reply = shaped(shape);
      expect(reply).toMatchObject({ calls: [], finishReason: 'stop' });
      const json = (reply.content ?? '').replaceAll(/<\/?tool_call>/g, '');
      expect(JSON.parse(json)).toMatchObject({ name: 'web__deep_search', arguments: expect.any(Object) });
    }
    expect(shaped('text-tags').content).toMatch(/^<tool_call>\n.*\n<\/tool_call>$/s);
  });

  it('broken-json breaks off before the end', () => {
    const text = shaped('broken-json').calls[0]?.arguments ?? '';
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(JSON.parse(`${text}}`)).toMatchObject({ query: expect.any(String) });
  });

  it('unknown-tool names a tool that was not offered', () => {
    expect([lookup.name, search.name]).not.toContain(shaped('unknown-tool').calls[0]?.name);
  });
});

describe('limits and formats', () => {
  it('cuts the reply at max_tokens and says so', () => {
    const reply = plan([message('user', 'hello')], { tools: [], maxTokens: 5 });
    expect(reply).toMatchObject({ finishReason: 'length' });
    expect(reply.pieces).toHaveLength(5);
    expect(plan([message('user', 'hello')], { maxTokens: 3 })).toMatchObject({ finishReason: 'length' });
  });

  it('answers a wanted schema with JSON that fits it', () => {
    const responseSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const reply = plan([message('user', 'hello')], { tools: [], responseSchema });
    expect(JSON.parse(reply.content ?? '')).toEqual({ n: expect.any(Number) });
  });

  it('splits text into pieces that join to the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(tokenize(text).join('')).toBe(text);
      }),
    );
  });
});
