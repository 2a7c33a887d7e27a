/** `limit: latency`: places by the time to the first byte, for engines that tell nothing. */
import { describe, expect, it } from 'vitest';
import type { ProxyId } from '../../../contracts/ids.ts';
import { replica, replicaState, Scenario } from './scenario.ts';

class Limited {
  readonly scenario: Scenario;
  #next = 0;
  constructor(fields: Record<string, unknown> = {}) {
    this.scenario = new Scenario([replica('a', { engine: 'ollama', limit: 'latency', ...fields })]);
    for (let turn = 0; turn < 200; turn += 1) this.scenario.arrive(`t${this.#next++}`);
  }

  get inFlight(): number {
    return replicaState(this.scenario, 'a').inFlight;
  }

  /** One turn after the other gets its first byte after `firstByteMs`, and ends. */
  serve(turns: number, firstByteMs: number): void {
    for (let turn = 0; turn < turns; turn += 1) {
      const running = [...this.scenario.state.turns.values()].find((one) => one.replica !== null);
      if (running === undefined) throw new Error('nothing is in flight');
      this.scenario.nowMs = Math.max(this.scenario.nowMs, running.admittedAtMs + firstByteMs);
      const id = running.spec.turn;
      this.scenario.send({ type: 'turnStarted', proxy: 'p' as ProxyId, turn: id });
      this.scenario.finish(id);
      this.scenario.arrive(`t${this.#next++}`);
    }
  }
}

describe('the limit', () => {
  it('starts at four places', () => {
    expect(new Limited().inFlight).toBe(4);
  });

  it('grows by one in about a limit of turns while first bytes come as fast as ever', () => {
    const limited = new Limited();
    limited.serve(5, 100);
    expect(limited.inFlight).toBe(5);
    limited.serve(100, 100);
    expect(limited.inFlight).toBeGreaterThan(12);
    expect(limited.inFlight).toBeLessThan(18);
  });

  it('shrinks by a part when first bytes take far longer, once for the turns admitted before', () => {
    const limited = new Limited();
    limited.serve(100, 100);
    const before = limited.inFlight;
    limited.serve(1, 5_000);
    expect(Math.floor(replicaState(limited.scenario, 'a').latency.limit)).toBe(Math.floor(before * 0.8));
    limited.serve(3, 5_000);
    expect(Math.floor(replicaState(limited.scenario, 'a').latency.limit)).toBe(Math.floor(before * 0.8));
  });

  it('never goes below one place', () => {
    const limited = new Limited();
    limited.serve(1, 100);
    for (let round = 0; round < 40; round += 1) limited.serve(4, 3_000 + round);
    expect(limited.inFlight).toBeGreaterThanOrEqual(1);
  });

  it('never goes above maxConcurrent', () => {
    const limited = new Limited({ maxConcurrent: 6 });
    limited.serve(100, 100);
    expect(limited.inFlight).toBe(6);
  });

  it('is not in force unless the pool asks for it', () => {
    const scenario = new Scenario([replica('a', { engine: 'ollama' })]);
    for (let turn = 0; turn < 50; turn += 1) scenario.arrive(`t${turn}`);
    expect(replicaState(scenario, 'a').inFlight).toBe(50);
  });
});
