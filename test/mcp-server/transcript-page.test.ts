import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { transcriptPage } from '../../mcp-server/runs/read-transcript.ts';

const whole = { offset: 0, limit: 100, full: false };
const image = { mimeType: 'image/png', data: Buffer.alloc(300, 7).toString('base64') };
const messages: readonly ChatMessage[] = [
  { role: 'system', content: 'be brief' },
  { role: 'user', content: 'look' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{"at":1}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'seen [image 1]', images: [image] },
  { role: 'assistant', content: 'a cat' },
];

describe('a page of a transcript', () => {
  it('has calls with their results, and of images their type and size only', () => {
    const { entries, total, nextOffset } = transcriptPage(messages, whole);
    expect([total, nextOffset]).toEqual([5, null]);
    expect(entries[2]).toEqual({
      index: 2,
      role: 'assistant',
      content: null,
      cutFromBytes: null,
      toolCalls: [{ id: 'c1', name: 'see', arguments: '{"at":1}' }],
      toolCallId: null,
      images: [],
    });
    expect(entries[3]).toMatchObject({ toolCallId: 'c1', images: [{ mimeType: 'image/png', bytes: 300 }] });
    expect(JSON.stringify(entries)).not.toContain(image.data.slice(0, 40));
  });

  it('goes on where the one before ended', () => {
    const first = transcriptPage(messages, { ...whole, limit: 2 });
    expect([first.entries.map(({ index }) => index), first.nextOffset]).toEqual([[0, 1], 2]);
    const rest = transcriptPage(messages, { ...whole, offset: 2, limit: 3 });
    expect([rest.entries.map(({ index }) => index), rest.nextOffset]).toEqual([[2, 3, 4], null]);
    expect(transcriptPage(messages, { ...whole, offset: 9 })).toEqual({
      total: 5,
      entries: [],
      nextOffset: null,
    });
  });

  it('cuts long contents and long arguments with a note, unless all of it is wanted', () => {
    const long = 'x'.repeat(100_000);
    const calls = [{ id: 'c', type: 'function' as const, function: { name: 'f', arguments: long } }];
    const some: ChatMessage[] = [{ role: 'assistant', content: long, tool_calls: calls }];
    const [cut] = transcriptPage(some, whole).entries;
    expect(cut?.cutFromBytes).toBe(100_000);
    expect(cut?.content).toContain('characters left out here]');
    expect(cut?.content?.length).toBeLessThan(20_001);
    expect(cut?.toolCalls[0]?.arguments.length).toBeLessThan(20_001);
    const [full] = transcriptPage(some, { ...whole, full: true }).entries;
    expect([full?.content, full?.toolCalls[0]?.arguments, full?.cutFromBytes]).toEqual([long, long, null]);
  });

  it('is under 4 MiB, and short rather than empty', () => {
    const big: ChatMessage[] = Array.from({ length: 6 }, () => ({
      role: 'user',
      content: '"'.repeat(700_000),
    }));
    const pages = [];
    for (let offset: number | null = 0; offset !== null;) {
      const page = transcriptPage(big, { offset, limit: 1_000, full: true });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(4 * 1_024 * 1_024);
      expect(page.entries.length).toBeGreaterThan(0);
      pages.push(...page.entries.map(({ index }) => index));
      offset = page.nextOffset;
    }
    expect(pages).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
