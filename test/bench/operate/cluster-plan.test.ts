import { describe, expect, it } from 'vitest';
import { nineProcesses, placesOf, portsNeeded, settingsOf } from '../../../bench/operate/cluster-plan.ts';
import { plannedKills } from '../../../bench/operate/summary.ts';
import { planOf } from '../../../bench/operate/plan.ts';

const ports = Array.from({ length: 9 }, (_, index) => 20_001 + index);

describe('nine processes', () => {
  it('have places of their own and know all schedulers and proxies', () => {
    expect(portsNeeded(nineProcesses)).toBe(9);
    const places = placesOf(nineProcesses, '127.0.0.1', ports);
    expect(new Set(places.map(({ port }) => port)).size).toBe(9);
    const worker = places.find(({ name }) => name === 'worker-3');
    expect(worker === undefined ? null : settingsOf(worker, places)).toEqual({
      FERMATA_WORKER_PORT: '20007',
      FERMATA_SCHEDULER_URL: 'http://127.0.0.1:20001,http://127.0.0.1:20002',
      FERMATA_PROXY_URL: 'http://127.0.0.1:20003,http://127.0.0.1:20004',
    });
  });

  it('need a port each', () => {
    expect(() => placesOf(nineProcesses, '127.0.0.1', ports.slice(1))).toThrow('9 ports are needed, not 8');
  });

  it('are each killed in the full form, and one of each kind in the quick one', () => {
    expect(plannedKills(planOf(false))).toBe(27);
    expect(plannedKills(planOf(true))).toBe(4);
  });
});
