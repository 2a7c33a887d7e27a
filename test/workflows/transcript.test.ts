import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { transcriptDigest } from '../../contracts/transcript-digest.ts';
import { cutText, firstLine, utf8Bytes } from '../../workflows/text.ts';
import { appendMessages, emptyTranscript, fitTranscript } from '../../workflows/transcript.ts';

const call = (id: string): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'lookup', arguments: '{}' } }],
});
const result = (id: string, content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content });

describe('a transcript', () => {
  it('knows its digest and its size as JSON', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
        const messages = texts.map((content): ChatMessage => ({ role: 'user', content }));
        const transcript = appendMessages(emptyTranscript, messages);
        expect(transcript.digest).toBe(transcriptDigest(messages));
        const actual = Buffer.byteLength(JSON.stringify(messages));
        expect(Math.abs(transcript.bytes - actual)).toBeLessThanOrEqual(2);
      }),
    );
  });

  it('that is too large loses the texts of its oldest tool results, and nothing else', () => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'task' }];
    for (let turn = 0; turn < 40; turn += 1)
      messages.push(call(`c${turn}`), result(`c${turn}`, 'x'.repeat(49_000)));
    const full = appendMessages(emptyTranscript, messages);
    const fitted = fitTranscript(full);
    expect(fitted?.bytes).toBeLessThanOrEqual(1_500_000);
    expect(fitted?.digest).toBe(transcriptDigest(fitted?.messages ?? []));
    expect(fitted?.messages).toHaveLength(messages.length);
    const elided = fitted?.messages
      .filter((message) => message.role === 'tool')
      .map((message) => message.content?.length);
    const firstKept = elided?.indexOf(49_000) ?? -1;
    expect(firstKept).toBeGreaterThan(0);
    expect(elided?.slice(firstKept).every((length) => length === 49_000)).toBe(true);
    expect(fitted?.messages[2]?.content).toBe(
      '[49000 bytes of this tool result were left out to keep the transcript small]',
    );
    expect(fitted?.messages.filter((message) => message.role !== 'tool')).toEqual(
      messages.filter((message) => message.role !== 'tool'),
    );
  });

  it('that fits stays as it is', () => {
    const transcript = appendMessages(emptyTranscript, [{ role: 'user', content: 'task' }]);
    expect(fitTranscript(transcript)).toBe(transcript);
  });

  it('that cannot be made to fit says so', () => {
    const transcript = appendMessages(emptyTranscript, [{ role: 'user', content: 'x'.repeat(2_000_000) }]);
    expect(fitTranscript(transcript)).toBeNull();
  });
});

describe('a transcript with images', () => {
  const withImages = (id: string, images: number, bytes: number, text = `seen ${id}`): ChatMessage => ({
    role: 'tool',
    tool_call_id: id,
    content: text,
    images: Array.from({ length: images }, () => ({ mimeType: 'image/png', data: 'A'.repeat(bytes) })),
  });
  const counts = (messages: readonly ChatMessage[]): number[] =>
    messages.flatMap((message) => (message.role === 'tool' ? [message.images?.length ?? 0] : []));

  it('counts them into its size and its digest', () => {
    const messages = [call('a'), withImages('a', 2, 1_000)];
    const transcript = appendMessages(emptyTranscript, messages);
    expect(Math.abs(transcript.bytes - JSON.stringify(messages).length)).toBeLessThanOrEqual(2);
    expect(transcript.bytes).toBeGreaterThan(2_000);
    expect(transcript.digest).not.toBe(
      appendMessages(emptyTranscript, [call('a'), withImages('a', 1, 1_000)]).digest,
    );
  });

  it('that is too large loses its oldest images, and no text while that is enough', () => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'task' }];
    for (let turn = 0; turn < 6; turn += 1) {
      messages.push(call(`c${turn}`), withImages(`c${turn}`, 1, 300_000, 'x'.repeat(10_000)));
    }
    const fitted = fitTranscript(appendMessages(emptyTranscript, messages));
    expect(fitted?.bytes).toBeLessThanOrEqual(1_200_000);
    expect(counts(fitted?.messages ?? [])).toEqual([0, 0, 0, 1, 1, 1]);
    const texts = fitted?.messages.filter((message) => message.role === 'tool').map(({ content }) => content);
    expect(texts?.every((text) => text?.startsWith('x'.repeat(10_000)))).toBe(true);
    expect(texts?.[0]).toContain('[the image of this result left out: it is old');
    expect(texts?.[5]).toBe('x'.repeat(10_000));
    expect(fitted?.digest).toBe(transcriptDigest(fitted?.messages ?? []));
  });

  it('loses texts only when no image is left to lose', () => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'task' }];
    for (let turn = 0; turn < 40; turn += 1) {
      messages.push(
        call(`c${turn}`),
        withImages(`c${turn}`, turn % 4 === 0 ? 1 : 0, 100_000, 'x'.repeat(40_000)),
      );
    }
    const fitted = fitTranscript(appendMessages(emptyTranscript, messages));
    expect(fitted?.bytes).toBeLessThanOrEqual(1_200_000);
    expect(counts(fitted?.messages ?? []).some((count) => count > 0)).toBe(false);
    expect(fitted?.messages[2]?.content).toContain('bytes of this tool result were left out');
    expect(fitted?.messages.at(-1)?.content).toContain('x'.repeat(40_000));
  });

  it('that has more images than engines take loses the oldest half of them', () => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'task' }];
    for (let turn = 0; turn < 20; turn += 1) messages.push(call(`c${turn}`), withImages(`c${turn}`, 1, 100));
    const most = appendMessages(emptyTranscript, messages);
    expect(fitTranscript(most)).toBe(most);
    const more = appendMessages(most, [call('c20'), withImages('c20', 1, 100)]);
    const fitted = fitTranscript(more);
    expect(counts(fitted?.messages ?? [])).toEqual([
      ...Array<number>(11).fill(0),
      ...Array<number>(10).fill(1),
    ]);
    expect(fitted?.messages[2]).toMatchObject({ tool_call_id: 'c0' });
    expect(fitted?.messages[2]?.content).toMatch(/^seen c0\n\[the image of this result left out: /);
    expect(fitted?.bytes).toBe(appendMessages(emptyTranscript, fitted?.messages ?? []).bytes);
  });

  it('keeps every call with its result, and its size and digest true, whatever it has to lose', () => {
    const step = fc.record({
      images: fc.nat({ max: 8 }),
      bytes: fc.nat({ max: 120_000 }),
      text: fc.nat({ max: 50_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const messages: ChatMessage[] = [{ role: 'user', content: 'task' }];
        for (const [turn, { images, bytes, text }] of steps.entries()) {
          messages.push(call(`c${turn}`), withImages(`c${turn}`, images, bytes, 'x'.repeat(text)));
        }
        const fitted = fitTranscript(appendMessages(emptyTranscript, messages));
        expect(fitted).not.toBeNull();
        if (fitted === null) return;
        expect(fitted.bytes).toBeLessThanOrEqual(1_500_000);
        expect(fitted.digest).toBe(transcriptDigest(fitted.messages));
        expect(fitted.bytes).toBe(appendMessages(emptyTranscript, fitted.messages).bytes);
        expect(counts(fitted.messages).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(20);
        const ids = (of: readonly ChatMessage[]) =>
          of.map((message) => (message.role === 'tool' ? message.tool_call_id : message.role));
        expect(ids(fitted.messages)).toEqual(ids(messages));
      }),
      { numRuns: 30 },
    );
  });
});

describe('text', () => {
  it('is measured in UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it('is cut between characters', () => {
    expect(cutText('abc', 3)).toBe('abc');
    expect(cutText('abcd', 3)).toBe('ab…');
    expect(cutText('a😀😀', 3)).toBe('a…');
    expect(firstLine('\n  \n first \nsecond', 10)).toBe('first');
  });
});
