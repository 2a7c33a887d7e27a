import { describe, expect, it } from 'vitest';
import { ChunkReader, type ChunkTimes } from '../../../bench/overhead/chunk-times.ts';

const chunk = (sentAtMs: number, colon = ':'): string =>
  `data: {"choices":[{"delta":{"content"${colon}"${sentAtMs.toFixed(4)}"}}]}\n\n`;

function read(pieces: readonly (readonly [text: string, atMs: number])[]): ChunkTimes & { seen: number } {
  const times: ChunkTimes = { delaysMs: [], gapExcessMs: [] };
  const reader = new ChunkReader();
  for (const [text, atMs] of pieces) reader.feed(text, atMs, times);
  return { ...times, seen: reader.seen };
}

describe('the times of chunks', () => {
  it('tell how long each was on its way and by how much its gap has grown', () => {
    const times = read([
      [chunk(100), 101],
      [chunk(110), 113],
      [chunk(120), 121],
    ]);
    expect(times).toEqual({ seen: 3, delaysMs: [1, 3, 1], gapExcessMs: [2, -2] });
  });

  it('show chunks that a gateway keeps back and sends together', () => {
    const times = read([[`${chunk(100)}${chunk(110)}`, 111]]);
    expect(times).toEqual({ seen: 2, delaysMs: [11, 1], gapExcessMs: [-10] });
  });

  it('are read from text in pieces and from JSON that was written anew', () => {
    const text = chunk(100, ': ');
    const times = read([
      [text.slice(0, 40), 101],
      [text.slice(40), 102],
      [`${chunk(110)}data: [DONE]\n\n`, 112],
    ]);
    expect(times).toEqual({ seen: 2, delaysMs: [2, 2], gapExcessMs: [0] });
  });
});
