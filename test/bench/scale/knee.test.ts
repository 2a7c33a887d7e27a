import { describe, expect, it } from 'vitest';
import { kneeOf, kneeText, type ScalePoint } from '../../../bench/scale/knee.ts';

const point = (
  count: number,
  perSecond: number,
  busyCores: number | null,
  cores: ScalePoint['cores'] = [],
): ScalePoint => ({ count, perSecond, busyCores, cores });

describe('a knee', () => {
  it('is none while throughput grows with the parts', () => {
    expect(kneeOf([point(1, 100, 0.5), point(2, 190, 1), point(4, 340, 1.9)], 2)).toBeNull();
  });

  it("is the machine's where its processors are busy", () => {
    const points = [point(1, 100, 1.9), point(2, 104, 2), point(4, 98, 2)];
    const knee = kneeOf(points, 2);
    expect(knee).toMatchObject({ from: 1, to: 2, why: 'machine' });
    expect(kneeText('proxies', knee, points.at(-1), 2)).toBe(
      "from 1 to 2 proxies throughput grew 1.04 times: all 2 processors were busy (the machine's knee); of 2.00 busy ones everything else on the machine 100 %",
    );
  });

  it('tells who used the processors, most first', () => {
    const cores = [
      { kind: 'scheduler', processes: 1, cores: 0.2 },
      { kind: 'proxies', processes: 0, cores: 1.2 },
    ];
    const points = [point(1, 100, 1.9), point(2, 104, 2, cores)];
    expect(kneeText('proxies', kneeOf(points, 2), points.at(-1), 2)).toMatch(
      /; of 2\.00 busy ones proxies 60 %, everything else on the machine 30 %, scheduler 10 %$/,
    );
  });

  it('is that of a process that has a processor to itself while others are idle', () => {
    const cores = [
      { kind: 'scheduler', processes: 1, cores: 0.95 },
      { kind: 'proxies', processes: 0, cores: 1.2 },
    ];
    const points = [point(1, 100, 1.9), point(2, 104, 2.2, cores)];
    const knee = kneeOf(points, 8);
    expect(knee).toMatchObject({ why: 'process', process: 'scheduler' });
    expect(kneeText('proxies', knee, points.at(-1), 8)).toContain('scheduler had none left of its own');
  });

  it('is something else where processors are idle, or nobody can tell', () => {
    expect(kneeOf([point(1, 100, 0.4), point(2, 120, 0.5)], 2)).toMatchObject({ why: 'other' });
    expect(kneeOf([point(1, 100, null), point(2, 120, null)], 2)).toMatchObject({ why: 'other' });
  });

  it('is told at the first step that did not pay', () => {
    const points = [point(1, 100, 0.5), point(2, 200, 1), point(4, 210, 1)];
    expect(kneeOf(points, 4)).toMatchObject({ from: 2, to: 4 });
  });
});
