import { describe, expect, it } from 'vitest';
import { promptConversation } from '../../../proxy/identity/prompt-conversation.ts';

const long = 'word '.repeat(1_000);

describe('the conversation of completions', () => {
  it('shares its prefix with a prompt that goes on from it', () => {
    const short = promptConversation('m', long).prefix;
    const longer = promptConversation('m', `${long}and more ${long}`).prefix;
    expect(short.length).toBeGreaterThan(3);
    expect(longer.slice(0, short.length)).toEqual(short);
    expect(promptConversation('other', long).prefix[0]).not.toBe(short[0]);
  });

  it('shares it also when the prompt is tokens', () => {
    const tokens = Array.from({ length: 2_000 }, (_, index) => 10_000 + index);
    const short = promptConversation('m', tokens).prefix;
    const longer = promptConversation('m', [...tokens, ...tokens]).prefix;
    expect(longer.slice(0, short.length)).toEqual(short);
  });

  it('counts tokens as they are, and texts by their length', () => {
    expect(
      promptConversation(
        'm',
        Array.from({ length: 500 }, () => 123_456),
      ).promptTokens,
    ).toBe(501);
    const lists = [[1, 2, 3], Array.from({ length: 100 }, () => 5)];
    expect(promptConversation('m', lists).promptTokens).toBe(104);
    const texts = promptConversation('m', ['a'.repeat(400), 'b'.repeat(400)]).promptTokens;
    expect(texts).toBeGreaterThan(200);
    expect(texts).toBeLessThan(210);
  });

  it('is never recognised by its text: a prompt does not tell where a reply ended', () => {
    const { answered, toolResults, previousResponse } = promptConversation('m', long);
    expect({ answered, toolResults, previousResponse }).toEqual({
      answered: [],
      toolResults: null,
      previousResponse: null,
    });
  });

  it.each([undefined, null, '', [], {}, 7, [[]], [null], ['a', 3]])(
    'is read when the prompt is %j',
    (prompt) => {
      expect(promptConversation(null, prompt).promptTokens).toBeLessThan(10);
    },
  );
});
