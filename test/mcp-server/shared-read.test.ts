import { describe, expect, it } from 'vitest';
import { SharedRead } from '../../mcp-server/runs/shared-read.ts';

describe('a shared read', () => {
  it('reads once for all who ask at the same time', async () => {
    let reads = 0;
    const waiting: ((value: number) => void)[] = [];
    const shared = new SharedRead(async () => {
      reads += 1;
      return await new Promise<number>((resolve) => waiting.push(resolve));
    }, 10);
    const both = Promise.all([shared.get(), shared.get()]);
    waiting[0]?.(7);
    expect(await both).toEqual([7, 7]);
    expect(reads).toBe(1);
  });

  it('keeps an answer for its time, and no longer', async () => {
    let now = 0;
    let reads = 0;
    const shared = new SharedRead(
      () => Promise.resolve((reads += 1)),
      10,
      () => now,
    );
    expect(await shared.get()).toBe(1);
    now = 9;
    expect(await shared.get()).toBe(1);
    now = 10;
    expect(await shared.get()).toBe(2);
  });

  it('tells a failure to all who waited, and reads again for the next', async () => {
    let reads = 0;
    const shared = new SharedRead(async () => {
      reads += 1;
      if (reads === 1) throw new Error('away');
      return await Promise.resolve(reads);
    }, 10);
    const results = await Promise.allSettled([shared.get(), shared.get()]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    expect(await shared.get()).toBe(2);
  });
});
