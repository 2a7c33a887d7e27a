import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatConversation } from '../../../proxy/identity/chat-conversation.ts';
import type { Conversation } from '../../../proxy/identity/conversation.ts';

function read(messages: readonly unknown[], more: { model?: string; tools?: unknown } = {}): Conversation {
  return chatConversation({ model: more.model ?? 'm', tools: more.tools, messages });
}

const user = (content: string): unknown => ({ role: 'user', content });
const assistant = (content: string): unknown => ({ role: 'assistant', content });
const calls = (...ids: string[]): unknown => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (id: string): unknown => ({ role: 'tool', tool_call_id: id, content: 'r' });

describe('the prefix hashes of a conversation', () => {
  it('cover whole blocks of 1 KiB and stop at 64', () => {
    expect(read([user('short')]).prefix).toEqual([]);
    expect(read([user('x'.repeat(1024))]).prefix).toHaveLength(1);
    expect(read([user('x'.repeat(10_240))]).prefix).toHaveLength(10);
    expect(read([user('x'.repeat(1_000_000))]).prefix).toHaveLength(64);
    expect(read([user('\u6771'.repeat(100_000))]).prefix).toHaveLength(64);
  });

  it('of a longer conversation begin with those of its beginning, and differ from the first other block on', () => {
    const shared = [user('a'.repeat(5_000)), assistant('b'.repeat(3_000))];
    const short = read(shared).prefix;
    const long = read([...shared, user('c'.repeat(4_000))]).prefix;
    const other = read([user(`z${'a'.repeat(4_999)}`), assistant('b'.repeat(3_000))]).prefix;
    expect(long.slice(0, short.length)).toEqual(short);
    expect(long.length).toBeGreaterThan(short.length);
    expect(other.filter((hash) => short.includes(hash))).toEqual([]);
  });

  it('are shared by texts that begin alike, however they go on', () => {
    const shared = 'a'.repeat(3_000);
    const [one, other] = [
      read([user(`${shared}${'b'.repeat(9)}`)]),
      read([user(`${shared}${'c'.repeat(999)}`)]),
    ];
    expect(other.prefix.slice(0, 2)).toEqual(one.prefix.slice(0, 2));
    expect(one.prefix).toHaveLength(2);
    expect(other.prefix).toHaveLength(3);
  });

  it('tell models and tools apart, which come first in the engine', () => {
    const messages = [user('x'.repeat(2_048))];
    const hashes = [
      read(messages),
      read(messages, { model: 'other' }),
      read(messages, { tools: [{ type: 'function' }] }),
    ].map(({ prefix }) => prefix[0]);
    expect(new Set(hashes).size).toBe(3);
  });

  it('fit the link protocol', () => {
    for (const hash of read([user('x'.repeat(9_999))]).prefix) expect(hash.length).toBeLessThanOrEqual(32);
  });
});

describe('the beginnings of a conversation', () => {
  it('hash as the conversation that had been answered there', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 6 }), (texts) => {
        const messages = texts.flatMap((text) => [user(text), assistant(`re: ${text}`)]);
        const { answered } = read([...messages, user('next')]);
        const replies = messages.flatMap((_, index) => (index % 2 === 1 ? [index] : []));
        expect(answered).toEqual(replies.toReversed().map((index) => read(messages.slice(0, index)).whole));
      }),
      { numRuns: 50 },
    );
  });

  it('do not depend on tools or model, which may change along the way', () => {
    expect(read([user('a')], { model: 'x', tools: [1] }).whole).toBe(read([user('a')]).whole);
  });

  it('are none before the first reply, however long', () => {
    expect(read([user('a'), user('b')]).answered).toEqual([]);
    expect(read([]).answered).toEqual([]);
  });
});

describe('a message sent again', () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const said = (content: unknown, more: object = {}): unknown => ({ role: 'user', content, ...more });
  const text = (words: string, more: object = {}): unknown => ({ type: 'text', text: words, ...more });

  it('is the same wherever the marks of the cache stand this turn', () => {
    const plain = read([said('a'), said('b')]);
    expect(read([said([text('a', mark)]), said([text('b')])])).toEqual(plain);
    expect(read([said('a', mark), said('b')])).toEqual(plain);
    const parts = [text('a'), text('b')];
    expect(read([said([text('a'), text('b', mark)])])).toEqual(read([said(parts)]));
  });

  it('is the same without the reasoning of a reply', () => {
    const reply = { role: 'assistant', content: 'x' };
    const plain = read([user('a'), reply, user('b')]);
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_details']) {
      expect(read([user('a'), { ...reply, [field]: 'hm' }, user('b')])).toEqual(plain);
    }
  });

  it('is another with another text, part, name or call', () => {
    const others = [
      said('a'),
      said('b'),
      said([text('a'), text('b')]),
      said([{ type: 'image_url', image_url: { url: 'http://h.test/a' } }]),
      said('a', { name: 'x' }),
      said(null),
      calls('a'),
    ];
    expect(new Set(others.map((message) => read([message]).whole)).size).toBe(others.length);
  });
});

describe('conversations that are not the same', () => {
  const parts = fc.constantFrom('a', '\n', '{"role":"user","content":"1"}', '"', '\u6771', '\ud800', '');
  const text = fc.array(parts, { maxLength: 4 }).map((some) => some.join(''));
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'assistant'), content: text }),
    fc.record({ role: fc.constant('user'), content: fc.array(text, { minLength: 2, maxLength: 3 }) }),
    text,
    fc.constantFrom(null, 1, { role: 'user', content: 1 }),
  );

  it('have other hashes, whatever their texts look like', () => {
    const messages = fc.array(message, { maxLength: 3 });
    fc.assert(
      fc.property(messages, messages, (one, other) => {
        const same = wellFormed(one) === wellFormed(other);
        expect(read(one).whole === read(other).whole).toBe(same);
      }),
      { numRuns: 2_000 },
    );
  });

  /** A lone half of a pair of surrogates is no character: any of them is the same one. */
  function wellFormed(messages: readonly unknown[]): string {
    return JSON.stringify(messages, (_key, value: unknown) =>
      typeof value === 'string' ? Buffer.from(value).toString() : value,
    );
  }
});

describe('tool results sent back', () => {
  it('are those after the last reply, bound to what was before it', () => {
    const before = [user('q'), calls('call_0'), result('call_0')];
    const { toolResults } = read([...before, calls('call_1', 'call_2'), result('call_1'), result('call_2')]);
    expect(toolResults).toEqual({ before: read(before).whole, ids: ['call_1', 'call_2'] });
  });

  it('are none when the conversation ends otherwise, or their ids are no texts', () => {
    expect(read([user('q'), calls('a'), result('a'), assistant('done'), user('x')]).toolResults).toBeNull();
    const odd = [
      { role: 'tool', tool_call_id: 7 },
      { role: 'tool' },
      { role: 'tool', tool_call_id: '' },
      null,
      5,
    ];
    expect(read([user('q'), calls('a'), ...odd]).toolResults).toBeNull();
  });
});

describe('the estimate of prompt tokens', () => {
  it('grows with the text, tools included', () => {
    const small = read([user('x'.repeat(400))]).promptTokens;
    expect(small).toBeGreaterThanOrEqual(100);
    expect(small).toBeLessThan(120);
    expect(read([user('x'.repeat(400))], { tools: ['y'.repeat(4_000)] }).promptTokens).toBeGreaterThan(1_000);
  });

  it('does not take an inlined image for text', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_500_000)}` } };
    const tokens = read([{ role: 'user', content: [{ type: 'text', text: 'see' }, image] }]).promptTokens;
    expect(tokens).toBeGreaterThan(1_000);
    expect(tokens).toBeLessThan(1_100);
  });
});
