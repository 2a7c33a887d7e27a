import { describe, expect, it } from 'vitest';
import { createPoolModels } from '../../../activities/model-turn/pool-models.ts';

const listed = (id: string, images?: unknown) => ({
  id,
  ...(images === undefined ? {} : { fermata: { images } }),
});

function poolOf(answers: (unknown[] | Error)[]) {
  let asked = 0;
  let nowMs = 0;
  const pool = createPoolModels(
    async () => {
      const answer = answers[Math.min(asked, answers.length - 1)];
      asked += 1;
      if (answer instanceof Error) throw answer;
      return { object: 'list', data: answer };
    },
    () => nowMs,
  );
  return { pool, asked: () => asked, pass: (ms: number) => (nowMs += ms) };
}

describe('what the pool says of images', () => {
  it('is believed of models that it speaks of, and of no other', async () => {
    const { pool } = poolOf([[listed('a', true), listed('b', false), listed('c'), listed('d', 'yes'), 7]]);
    const takes = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map(async (model) => await pool.takesImages(model)),
    );
    expect(takes).toEqual([true, false, false, false, false]);
  });

  it('is asked once for all who ask at once, and again after some seconds', async () => {
    const { pool, asked, pass } = poolOf([[listed('a', true)], [listed('a', false)]]);
    await Promise.all(Array.from({ length: 10 }, async () => await pool.takesImages('a')));
    expect(asked()).toBe(1);
    pass(9_000);
    expect(await pool.takesImages('a')).toBe(true);
    pass(2_000);
    expect([await pool.takesImages('a'), asked()]).toEqual([false, 2]);
  });

  it('is asked at once where an earlier answer does not count', async () => {
    const { pool } = poolOf([[listed('a', true)], [listed('a', false)]]);
    expect(await pool.takesImages('a')).toBe(true);
    expect(await pool.takesImages('a', true)).toBe(false);
  });

  it('stands for some minutes while the pool cannot be asked', async () => {
    const gone = new Error('nobody listens');
    const { pool, pass } = poolOf([[listed('a', true)], gone]);
    expect(await pool.takesImages('a')).toBe(true);
    pass(300_000);
    expect(await pool.takesImages('a')).toBe(true);
    pass(301_000);
    expect(await pool.takesImages('a')).toBeNull();
  });

  it.each([[new Error('nobody listens')], ['no list' as unknown as unknown[]]])(
    'is not known when it was never heard: %s',
    async (answer) => {
      expect(await poolOf([answer]).pool.takesImages('a')).toBeNull();
    },
  );
});
