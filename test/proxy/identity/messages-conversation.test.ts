import { describe, expect, it } from 'vitest';
import type { Conversation } from '../../../proxy/identity/conversation.ts';
import { messagesConversation } from '../../../proxy/identity/messages-conversation.ts';

type Json = Record<string, unknown>;

function read(messages: readonly unknown[], more: { system?: unknown; tools?: unknown } = {}): Conversation {
  return messagesConversation({ model: 'm', messages, ...more });
}

const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more });
const user = (content: unknown): Json => ({ role: 'user', content });
const assistant = (content: unknown): Json => ({ role: 'assistant', content });
const use = (id: string, more: Json = {}): Json => ({ type: 'tool_use', id, name: 'f', input: {}, ...more });
const result = (id: unknown, more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content: [text('r')],
  ...more,
});
const mark = { cache_control: { type: 'ephemeral' } };
const long = 'x'.repeat(2_000);

describe('the conversation of messages', () => {
  it('is the same wherever the marks of the cache stand this turn', () => {
    const plain = read([user(long), assistant([use('a')]), user([result('a')])], {
      system: 'Be brief.',
      tools: [{ name: 'f' }, { name: 'g' }],
    });
    const marked = read(
      [
        user([text(long, mark)]),
        assistant([use('a', mark)]),
        user([result('a', { ...mark, content: [text('r', mark)] })]),
      ],
      { system: [text('Be brief.', mark)], tools: [{ name: 'f' }, { name: 'g', ...mark }] },
    );
    expect(marked).toEqual(plain);
    expect(plain.prefix.length).toBeGreaterThan(0);
  });

  it('keeps a mark that is a tool\u2019s own argument', () => {
    const call = (input: Json): string => read([user('a'), assistant([use('x', { input })])]).whole;
    expect(call(mark)).not.toBe(call({}));
  });

  it('goes on when thinking of earlier turns is left out', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's'.repeat(500) };
    const redacted = { type: 'redacted_thinking', data: 'd' };
    const messages = (kept: Json[]): Json[] => [
      user('a'),
      assistant([...kept, use('x')]),
      user([result('x')]),
    ];
    expect(read(messages([thinking, redacted]))).toEqual(read(messages([])));
  });

  it('goes on under a system prompt whose billing block changes with each request', () => {
    const system = (hash: string): Json[] => [
      text(`x-anthropic-billing-header: cc_version=2.1.77; cch=${hash};`),
      text('You are an agent.'),
    ];
    expect(read([user('a')], { system: system('1') })).toEqual(read([user('a')], { system: system('2') }));
    expect(read([user('a')], { system: system('1') }).whole).not.toBe(
      read([user('a')], { system: 'You are another.' }).whole,
    );
  });

  it('is another under another system prompt, but not with other tools, which may change along the way', () => {
    const one = read([user('a')], { system: 'one', tools: [{ name: 'f' }] });
    expect(read([user('a')], { system: 'two', tools: [{ name: 'f' }] }).whole).not.toBe(one.whole);
    expect(read([user('a')], { system: 'one' }).whole).toBe(one.whole);
    expect(read([user(long)], { tools: [1] }).prefix).not.toEqual(read([user(long)]).prefix);
  });

  it('has the results that follow the last reply, also beside other blocks and over several messages', () => {
    const before = [user('q'), assistant([text('let me see'), use('a')]), user([result('a'), text('go on')])];
    const { toolResults } = read([
      ...before,
      assistant([use('b')]),
      assistant([use('c')]),
      user([text('here'), result('b')]),
      user([result('c')]),
    ]);
    expect(toolResults).toEqual({ before: read(before).whole, ids: ['b', 'c'] });
  });

  it('has no results in replies, or by ids that are no text', () => {
    expect(read([user('q'), assistant([use('a'), result('a')])]).toolResults).toBeNull();
    const odd = [null, 7, '', undefined].map((id) => result(id));
    expect(read([user('q'), assistant([use('a')]), user(odd)]).toolResults).toBeNull();
  });

  it('is read whatever stands in it', () => {
    const odd = [
      null,
      5,
      'text',
      { role: 'user' },
      user(7),
      user([null, 3, { type: 'new' }]),
      assistant(null),
    ];
    expect(read(odd, { system: 5, tools: 'x' }).whole).not.toBe('');
  });

  it('counts images and documents at a flat rate, also in results of tools', () => {
    const data = 'A'.repeat(1_000_000);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
    const { promptTokens } = read([
      user([image, text('see')]),
      user([result('a', { content: [image, pdf] })]),
    ]);
    expect(promptTokens).toBeGreaterThan(3_000);
    expect(promptTokens).toBeLessThan(3_200);
    const linked = { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } };
    expect(read([user([linked])]).promptTokens).toBeLessThan(100);
  });
});
