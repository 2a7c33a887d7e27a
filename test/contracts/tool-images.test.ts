import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { bytesAsText, imageTotals, tokensPerImage, withoutImages } from '../../contracts/tool-images.ts';

const image = (data: string) => ({ mimeType: 'image/png', data });
const result = (...data: string[]): ChatMessage => ({
  role: 'tool',
  tool_call_id: 'a',
  content: 'seen',
  images: data.map(image),
});

describe('images of a transcript', () => {
  it('are counted with the bytes of their base64 and none of any text', () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: 'look' },
      { role: 'tool', tool_call_id: 'z', content: 'x'.repeat(1_000) },
      result('AAAA'),
      result('AAAAAAAA', 'AAAA'),
    ];
    expect(imageTotals(messages)).toEqual({ count: 3, bytes: 16 });
    expect(imageTotals([])).toEqual({ count: 0, bytes: 0 });
  });

  it('are estimated at a fixed number of tokens each, however large they are', () => {
    const sized = (bytes: number) => {
      const messages = [result('A'.repeat(bytes), 'A'.repeat(bytes))];
      return bytesAsText({ messages, bytes: JSON.stringify(messages).length }, 4);
    };
    expect(sized(400_000)).toBe(sized(4));
    expect(sized(4)).toBeGreaterThan(2 * tokensPerImage * 4);
    expect(sized(4)).toBeLessThan(2 * tokensPerImage * 4 + 300);
    expect(bytesAsText({ messages: [{ role: 'user', content: 'look' }], bytes: 33 }, 4)).toBe(33);
  });

  it('leave a line that says why they are gone, and every other message as it is', () => {
    expect(withoutImages(result('AAAA'), 'too old')).toEqual({
      role: 'tool',
      tool_call_id: 'a',
      content: 'seen\n[the image of this result left out: too old]',
    });
    expect(withoutImages(result('AAAA', 'AAAA'), 'too old')).toMatchObject({
      content: 'seen\n[the 2 images of this result left out: too old]',
    });
    const text: ChatMessage = { role: 'tool', tool_call_id: 'a', content: 'seen' };
    expect(withoutImages(text, 'too old')).toBe(text);
  });
});
