import { describe, expect, it } from 'vitest';
import { leastKills, partNames, planKills } from '../../../bench/durability/kill-plan.ts';

describe('the plan of kills', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planKills(60, 3)).toEqual(planKills(60, 3));
    expect(planKills(60, 3)).not.toEqual(planKills(60, 4));
  });

  it.each([40, 200])('of %i gives every part its share', (count) => {
    const plan = planKills(count, 1);
    expect(plan).toHaveLength(count);
    for (const part of partNames) {
      const kills = plan.filter((kill) => kill.part === part).length;
      expect(kills).toBeGreaterThanOrEqual(leastKills(count));
    }
    expect(leastKills(200)).toBeGreaterThanOrEqual(28);
  });

  it('has kills that stand alone and kills that overlap', () => {
    const alone = planKills(200, 1).filter((kill) => kill.alone).length;
    expect(alone).toBeGreaterThan(20);
    expect(alone).toBeLessThan(80);
  });

  it('has a death of each part that stands alone, however short it is', () => {
    const plan = planKills(30, 5);
    for (const part of partNames) {
      expect(plan.find((kill) => kill.part === part)).toMatchObject({ alone: true });
    }
  });

  it('of one part has no other, and each of its deaths stands alone', () => {
    const plan = planKills(12, 1, 'worker');
    expect(plan).toHaveLength(12);
    expect(plan.every(({ part, alone }) => part === 'worker' && alone)).toBe(true);
  });
});
