import { describe, expect, it } from 'vitest';
import { FreshRead } from '../../mcp-server/runs/fresh-read.ts';

function controlled() {
  const open: { readonly resolve: (value: number) => void; readonly reject: (error: Error) => void }[] = [];
  const read = new FreshRead(
    async () =>
      await new Promise<number>((resolve, reject) => {
        open.push({ resolve, reject });
      }),
  );
  return { read, open };
}

describe('a fresh read', () => {
  it('begins after it was asked for, and is shared by all who ask until it begins', async () => {
    const { read, open } = controlled();
    const first = read.get();
    const later = [read.get(), read.get(), read.get()];
    expect(open).toHaveLength(1);
    open[0]?.resolve(1);
    expect(await first).toBe(1);
    await expect.poll(() => open.length).toBe(2);
    const last = read.get();
    open[1]?.resolve(2);
    expect(await Promise.all(later)).toEqual([2, 2, 2]);
    await expect.poll(() => open.length).toBe(3);
    open[2]?.resolve(3);
    expect(await last).toBe(3);
  });

  it('keeps nothing', async () => {
    const { read, open } = controlled();
    const first = read.get();
    open[0]?.resolve(1);
    await first;
    const second = read.get();
    expect(open).toHaveLength(2);
    open[1]?.resolve(2);
    expect(await second).toBe(2);
  });

  it('tells a failure to those who waited for it, and reads anew for the others', async () => {
    const { read, open } = controlled();
    const first = read.get();
    const next = read.get();
    open[0]?.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await expect.poll(() => open.length).toBe(2);
    open[1]?.resolve(2);
    expect(await next).toBe(2);
  });
});
