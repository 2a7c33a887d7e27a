import { describe, expect, it } from 'vitest';
import { leaseTimes } from '../../../../scheduler/host/lease/lease-times.ts';
import { simulateLease } from './lease-simulation.ts';

const seeds = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('contenders for a lease, simulated', () => {
  it('are never active at the same moment, whatever goes wrong', () => {
    const faults = new Set<string>();
    let takeovers = 0;
    for (const seed of seeds(150)) {
      const report = simulateLease({ seed, contenders: 2 + (seed % 4), lengthMs: 60_000, faults: 1 });
      expect(report.violation).toBeNull();
      takeovers += report.takeovers;
      for (const fault of report.faults) faults.add(fault);
    }
    // It has put them to the test.
    expect(takeovers).toBeGreaterThan(1_000);
    expect([...faults].toSorted()).toEqual([
      'a question was lost',
      'an answer was lost',
      'garbage in the lease',
      'its wall clock was set forward',
      'killed',
      'stopped',
      'suspended',
      'the lease was edited',
      'the lease was removed',
      'the store was slow',
      'told to stop',
    ]);
  });

  it('have one of them active nearly all the time when nothing goes wrong', () => {
    for (const seed of seeds(5)) {
      const report = simulateLease({ seed, contenders: 3, lengthMs: 60_000, faults: 0 });
      expect(report).toMatchObject({ violation: null, takeovers: 1 });
      expect(report.covered).toBeGreaterThan(0.96);
    }
  });

  it('are found to be active together where the holder holds as long as the others wait', () => {
    const times = { ...leaseTimes, heldForMs: leaseTimes.durationMs };
    const violations = seeds(60).filter(
      (seed) => simulateLease({ seed, contenders: 4, lengthMs: 60_000, faults: 1, times }).violation !== null,
    );
    expect(violations.length).toBeGreaterThan(0);
  });
});
