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
