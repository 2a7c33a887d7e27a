import { expect, it } from 'vitest';
import { createLeaseClock } from '../../../../scheduler/host/lease/lease-clock.ts';

function clockOf(): {
  readonly set: (monotonic: number, wall: number) => void;
  readonly read: () => number[];
} {
  let monotonicMs = 0;
  let wallMs = 1_000_000;
  const clock = createLeaseClock(
    () => monotonicMs,
    () => wallMs,
  );
  return {
    set(monotonic, wall) {
      monotonicMs = monotonic;
      wallMs = 1_000_000 + wall;
    },
    read() {
      const { slowMs, fastMs } = clock();
      return [slowMs, fastMs];
    },
  };
}

it('shows the same twice while both clocks run', () => {
  const { set, read } = clockOf();
  for (const ms of [0, 400, 1_000]) {
    set(ms, ms);
    expect(read()).toEqual([ms, ms]);
  }
});

it('counts a suspended machine fast, and not slow', () => {
  const { set, read } = clockOf();
  set(1_000, 61_000);
  expect(read()).toEqual([1_000, 61_000]);
  set(1_100, 61_100);
  expect(read()).toEqual([1_100, 61_100]);
});

it('never goes back with a wall clock that is set back, and does not forget what it has missed', () => {
  const { set, read } = clockOf();
  set(1_000, 3_000);
  expect(read()).toEqual([1_000, 3_000]);
  set(1_100, -500_000);
  expect(read()).toEqual([1_100, 3_100]);
});

it('takes a wall clock that is being corrected for one that runs', () => {
  const { set, read } = clockOf();
  for (let ms = 0; ms <= 10_000; ms += 100) {
    set(ms, ms * 1.0005);
    expect(read()).toEqual([ms, ms]);
  }
});
