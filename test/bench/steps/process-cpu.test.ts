import { describe, expect, it } from 'vitest';
import { cpuBetween, cpuMsOf, machineCpuMsOf } from '../../../bench/steps/process-cpu.ts';

describe('processor time', () => {
  it('is read past a name with blanks and brackets', () => {
    const stat = '4711 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 11';
    expect(cpuMsOf(stat)).toBe(3_000);
    expect(cpuMsOf('')).toBeNull();
  });

  it('of the machine leaves out what was idle or waited for disks', () => {
    expect(machineCpuMsOf('cpu  100 10 50 9000 800 3 7 0 0 0\ncpu0 1 1 1')).toBe(1_700);
    expect(machineCpuMsOf('')).toBeNull();
  });

  it('of a window is taken between the samples around its ends', () => {
    const samples = [0, 1_000, 2_000].map((atMs) => ({
      atMs,
      used: { busy: atMs * 2, idle: 5, unknown: null },
    }));
    expect(cpuBetween(samples, 500, 1_250)).toEqual({ busy: 1_500, idle: 0, unknown: null });
    expect(cpuBetween(samples, 0, 2_000)).toEqual({ busy: 4_000, idle: 0, unknown: null });
  });

  it('is not made up outside of the samples', () => {
    const samples = [100, 200].map((atMs) => ({ atMs, used: { busy: atMs } }));
    expect(cpuBetween(samples, 50, 150)).toEqual({ busy: null });
    expect(cpuBetween(samples, 150, 250)).toEqual({ busy: null });
    expect(cpuBetween([], 0, 1)).toEqual({});
  });
});
