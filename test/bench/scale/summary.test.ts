import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import type { AwaitingResult } from '../../../bench/scale/awaiting.ts';
import type { ProxyWindow } from '../../../bench/scale/proxies.ts';
import { proxiesOfOneScheduler, scaleBars, scaleText } from '../../../bench/scale/summary.ts';
import type { WorkerWindow } from '../../../bench/scale/workers.ts';

function proxyWindow(proxies: number, requestsPerSecond: number, busyCores: number): ProxyWindow {
  const cores = { scheduler: 0.1, proxies: 0.8, engine: 0.3, load: 0.3 };
  return { proxies, repeat: 0, requestsPerSecond, failed: 0, p50Ms: 5, cores, busyCores };
}

function workerWindow(workers: number, stepsPerSecond: number): WorkerWindow {
  const together = {
    stepsPerSecond,
    fromMs: 0,
    toMs: 1_000,
    steps: stepsPerSecond,
    cpuMsPerStep: { temporal: 15, worker: 10, 'worker 2': 5 },
    foreignCores: 0.1,
  };
  return { workers, repeat: 0, together };
}

const awaiting: AwaitingResult = {
  runs: 1_000,
  completed: 1_000,
  faults: [],
  atOnceSeconds: 50,
  spawnedSeconds: 20,
  runsPerSecond: 20,
  runsPerSecondInWaves: 22,
  mostMiB: { 'mcp-server': 200 },
  cores: { temporal: 0.9 },
  busyCores: 1.9,
};

const good = {
  proxies: [proxyWindow(1, 1_000, 1.9), proxyWindow(2, 1_050, 2)],
  workers: [workerWindow(1, 65), workerWindow(2, 66)],
  awaiting,
  cores: 2,
};

describe('the bars of scale', () => {
  it("are met where every knee is the machine's and all runs ended", () => {
    const bars = scaleBars(good);
    expect(bars.filter((one) => !isMet(one))).toEqual([]);
    expect(proxiesOfOneScheduler(good.proxies).median).toBeCloseTo(8);
  });

  it.each([
    [
      "scale proxies, knees before the machine's",
      { ...good, proxies: [proxyWindow(1, 1_000, 1), proxyWindow(2, 1_050, 1)] },
    ],
    [
      "scale workers, knees before the machine's",
      { ...good, workers: [workerWindow(1, 20), workerWindow(2, 21)] },
    ],
    ['scale runs awaited at once', { ...good, awaiting: { ...awaiting, completed: 900 } }],
    [
      'scale runs per second at once over in waves',
      { ...good, awaiting: { ...awaiting, runsPerSecond: 10 } },
    ],
    [
      "scale workers, knees before the machine's",
      { ...good, workers: [workerWindow(1, 65), { workers: 2, repeat: 0, together: null }] },
    ],
  ])('miss %s where it is broken', (name, result) => {
    expect(
      scaleBars(result)
        .filter((one) => !isMet(one))
        .map((one) => one.name),
    ).toEqual([name]);
  });

  it('stand under tables that name each process', () => {
    const text = scaleText(good);
    for (const words of [
      'scheduler cores',
      'temporal cores',
      'worker cores',
      "the machine's knee",
      '1000 completed',
    ]) {
      expect(text).toContain(words);
    }
  });
});
