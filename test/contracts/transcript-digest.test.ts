import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import {
  emptyTranscriptDigest,
  extendTranscriptDigest,
  textDigest,
  transcriptDigest,
} from '../../contracts/transcript-digest.ts';

const message = fc.oneof(
  fc.record({ role: fc.constantFrom('user' as const, 'system' as const), content: fc.string() }),
  fc.record({ role: fc.constant('tool' as const), tool_call_id: fc.string(), content: fc.string() }),
  fc.record({
    role: fc.constant('tool' as const),
    tool_call_id: fc.string(),
    content: fc.string(),
    images: fc.array(fc.record({ mimeType: fc.string(), data: fc.string() }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ role: fc.constant('assistant' as const), content: fc.option(fc.string()) }),
);

describe('a transcript digest', () => {
  it('is the same whether it is made at once or message by message, or after a trip as JSON', () => {
    fc.assert(
      fc.property(fc.array<ChatMessage>(message), (messages) => {
        const copy = JSON.parse(JSON.stringify(messages)) as ChatMessage[];
        const digest = transcriptDigest(messages);
        expect(digest).toMatch(/^[0-9a-f]{16}$/);
        expect(transcriptDigest(copy)).toBe(digest);
        expect(copy.reduce(extendTranscriptDigest, emptyTranscriptDigest)).toBe(digest);
      }),
    );
  });

  it('differs between transcripts that differ', () => {
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(fc.array<ChatMessage>(message, { maxLength: 4 }), (messages) => {
        const digest = transcriptDigest(messages);
        const text = JSON.stringify(
          messages.map((one) => Object.entries(one).toSorted(([a], [b]) => a.localeCompare(b))),
        );
        expect(seen.get(digest) ?? text).toBe(text);
        seen.set(digest, text);
      }),
      { numRuns: 2_000 },
    );
  });

  it('covers every image of a tool result, its type and its place', () => {
    const image = (mimeType: string, data: string) => ({ mimeType, data });
    const digests = [
      [],
      [image('image/png', 'AAAA')],
      [image('image/jpeg', 'AAAA')],
      [image('image/png', 'AAAB')],
      [image('image/png', 'AAAA'), image('image/png', 'AAAB')],
      [image('image/png', 'AAAB'), image('image/png', 'AAAA')],
    ].map((images) =>
      transcriptDigest([
        { role: 'tool', tool_call_id: 'a', content: 'x', ...(images.length === 0 ? {} : { images }) },
      ]),
    );
    expect(new Set(digests).size).toBe(digests.length);
  });

  it('tells near texts apart', () => {
    const texts = Array.from({ length: 20_000 }, (_unused, index) => `result ${index}`);
    expect(new Set(texts.map(textDigest)).size).toBe(texts.length);
  });
});
