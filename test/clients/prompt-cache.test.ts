import { describe, expect, it } from 'vitest';
import { PromptCache } from './prompt-cache.ts';

const text = (letter: string): string => letter.repeat(400);

describe('the prompt cache of a scripted engine', () => {
  it('has nothing of a prompt that begins differently', () => {
    const cache = new PromptCache();
    cache.read([text('a'), text('b')]);
    expect(cache.read([text('c'), text('b')]).cachedTokens).toBe(0);
  });

  it('has all of an earlier prompt that this one continues', () => {
    const cache = new PromptCache();
    const { tokens } = cache.read([text('a'), text('b')]);
    cache.read([text('z')]);
    const longer = cache.read([text('a'), text('b'), text('c')]);
    expect(longer.cachedTokens).toBeGreaterThanOrEqual(tokens - 1);
    expect(longer.tokens).toBeGreaterThan(longer.cachedTokens + 99);
  });

  it('is not misled by a cache mark that has moved on', () => {
    const cache = new PromptCache();
    const marked = { text: text('a'), cache_control: { type: 'ephemeral' } };
    const { tokens } = cache.read([marked]);
    expect(cache.read([{ text: text('a') }, marked]).cachedTokens).toBeGreaterThanOrEqual(tokens - 1);
  });

  it('forgets all but the last prompts', () => {
    const cache = new PromptCache();
    cache.read([text('a')]);
    for (let other = 0; other < 64; other += 1) cache.read([text('b')]);
    expect(cache.read([text('a')]).cachedTokens).toBe(0);
  });
});
