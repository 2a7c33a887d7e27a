import { describe, expect, it } from 'vitest';
import { Backlog } from '../../../scheduler/host/backlog.ts';

describe('work that can wait', () => {
  it('is done in order once nothing else is at hand', async () => {
    const done: number[] = [];
    const backlog = new Backlog();
    for (const one of [1, 2, 3]) backlog.add(() => done.push(one));
    expect(done).toEqual([]);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(done).toEqual([1, 2, 3]);
  });

  it('is done when it is asked for, and not again', async () => {
    const done: number[] = [];
    const backlog = new Backlog();
    backlog.add(() => done.push(1));
    backlog.flush();
    expect(done).toEqual([1]);
    backlog.add(() => done.push(2));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(done).toEqual([1, 2]);
  });

  it('is done at once when there is too much of it', () => {
    let done = 0;
    const backlog = new Backlog();
    for (let count = 0; count < 2_500; count += 1) backlog.add(() => (done += 1));
    expect(done).toBe(2_000);
  });
});
