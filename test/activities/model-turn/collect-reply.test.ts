import { describe, expect, it } from 'vitest';
import {
  createReplyCollector,
  type CollectedReply,
  type ReplyChunk,
  type ToolCallDelta,
} from '../../../activities/model-turn/collect-reply.ts';

function collect(...chunks: ReplyChunk[]): CollectedReply {
  const collector = createReplyCollector();
  for (const chunk of chunks) collector.add(chunk);
  return collector.reply();
}

const calls = (...deltas: ToolCallDelta[]): ReplyChunk => ({ choices: [{ delta: { tool_calls: deltas } }] });
const call = (
  index: number | null | undefined,
  id: string | null | undefined,
  name: string | undefined,
  text: unknown,
): ReplyChunk =>
  calls({
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    function: { ...(name === undefined ? {} : { name }), arguments: text },
  });
const collected = (...chunks: ReplyChunk[]): unknown =>
  collect(...chunks).calls.map(({ id, name, arguments: text }) => [id, name, text]);

describe('tool-call deltas without a usable index', () => {
  it('are one call when they go on with it', () => {
    expect(
      collected(call(undefined, 'q1', 'add', '{"a":2,'), call(undefined, undefined, undefined, '"b":3}')),
    ).toEqual([['q1', 'add', '{"a":2,"b":3}']]);
  });
  it('are two calls when they have two ids', () => {
    expect(
      collected(call(undefined, 'q1', 'add', '{"a":1,"b":1}'), call(undefined, 'q2', 'add', '{"a":2,"b":2}')),
    ).toEqual([
      ['q1', 'add', '{"a":1,"b":1}'],
      ['q2', 'add', '{"a":2,"b":2}'],
    ]);
  });
  it('may say null', () => {
    expect(collected(call(null, 'q1', 'add', '{"a":5,"b":6}'))).toEqual([['q1', 'add', '{"a":5,"b":6}']]);
  });
});

describe('empty names', () => {
  it('do not wipe a name that came before', () => {
    expect(
      collected(
        call(0, 'n1', 'scan_tree', ''),
        call(0, undefined, '', '{"depth"'),
        call(0, undefined, '', ':6}'),
      ),
    ).toEqual([['n1', 'scan_tree', '{"depth":6}']]);
  });
  it('give way to a name that comes later', () => {
    expect(collected(call(0, 'n1', '', ''), call(0, undefined, 'scan_tree', '{"depth":6}'))).toEqual([
      ['n1', 'scan_tree', '{"depth":6}'],
    ]);
  });
});

describe('parallel calls that share an index', () => {
  it('are told apart by their ids', () => {
    expect(
      collected(
        call(0, 'a', 'sum', '{"a":7,'),
        call(0, undefined, undefined, '"b":8}'),
        call(0, 'b', 'tides', '{"port":"Brest"}'),
      ),
    ).toEqual([
      ['a', 'sum', '{"a":7,"b":8}'],
      ['b', 'tides', '{"port":"Brest"}'],
    ]);
  });
  it('are told apart by names after complete arguments', () => {
    const urls = ['{"url":"http://h.test/1"}', '{"url":"http://h.test/2"}', '{"url":"http://h.test/3"}'];
    expect(collected(...urls.map((url) => call(0, undefined, 'fetch', url)))).toEqual(
      urls.map((url) => ['', 'fetch', url]),
    );
  });
  it('may be interleaved when they have indices', () => {
    expect(
      collected(
        call(0, 'a', 'sum', ''),
        call(1, 'b', 'sum', ''),
        call(0, undefined, undefined, '{"a":1'),
        call(1, undefined, undefined, '{"a":9'),
        call(0, undefined, undefined, ',"b":1}'),
        call(1, undefined, undefined, ',"b":9}'),
      ),
    ).toEqual([
      ['a', 'sum', '{"a":1,"b":1}'],
      ['b', 'sum', '{"a":9,"b":9}'],
    ]);
  });
  it('stay apart when the engine gives every call the same id', () => {
    expect(collected(call(0, 'call_0', 'a', '{}'), call(1, 'call_0', 'b', '{}'))).toEqual([
      ['call_0', 'a', '{}'],
      ['call_0', 'b', '{}'],
    ]);
  });
  it('may repeat the name with every piece', () => {
    expect(collected(call(0, undefined, 'sum', '{"a"'), call(0, undefined, 'sum', ':1}'))).toEqual([
      ['', 'sum', '{"a":1}'],
    ]);
  });
});

describe('a reply', () => {
  it('has its text, finish reason and usage, on whatever chunk they come', () => {
    const usage = { prompt_tokens: 11, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 5 } };
    const text: ReplyChunk = { model: 'm', choices: [{ delta: { content: 'hi' } }] };
    const expected = {
      content: 'hi',
      finishReason: 'stop',
      model: 'm',
      promptTokens: 11,
      completionTokens: 2,
      cachedTokens: 5,
    };
    const stop = { delta: {}, finish_reason: 'stop' };
    for (const chunks of [
      [text, { choices: [stop] }, { choices: [], usage }],
      [text, { choices: [stop] }, { choices: null, usage }],
      [text, { choices: [stop] }, { usage }],
      [text, { choices: [stop], usage }],
      [{ choices: [] }, text, { choices: [stop], usage }, { choices: [{ delta: null }], usage: null }],
    ]) {
      expect(collect(...chunks)).toMatchObject(expected);
    }
  });

  it('takes arguments that come as an object', () => {
    expect(collected(call(0, 'a', 'sum', { a: 1 }))).toEqual([['a', 'sum', '{"a":1}']]);
  });

  it('counts its size, so that a runaway reply can be stopped', () => {
    const collector = createReplyCollector();
    collector.add({ choices: [{ delta: { content: 'abc' } }] });
    expect(collector.add(call(0, 'a', 'sum', '{}'))).toBe(8);
  });
});
