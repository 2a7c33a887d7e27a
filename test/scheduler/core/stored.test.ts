/** Turns that go on from a response which one replica stores: no other can serve them. */
import { describe, expect, it } from 'vitest';
import { replica, Scenario, type TurnFields } from './scenario.ts';

const two = [replica('r1', { maxConcurrent: 1 }), replica('r2')];
const storedOn = (id: string | null): TurnFields => ({ run: 'r', storedOn: id });
const longAfterMs = 60_000;

/** A run that was answered on `r1` long ago, while `r1` is full and `r2` idle. */
function restingRun(): Scenario {
  const scenario = new Scenario(two);
  expect(scenario.serve('t1', { run: 'r' })).toBe('r1');
  scenario.pass(longAfterMs);
  scenario.probe('r2', null, false);
  expect(scenario.arrive('blocker')).toEqual(['blocker@r1']);
  scenario.probe('r2');
  return scenario;
}

describe('a turn that goes on from a stored response', () => {
  it('waits for the replica that stores it, where any other turn of its run would move', () => {
    const free = restingRun();
    expect(free.arrive('t2', { run: 'r' })).toEqual(['t2@r2']);
    const scenario = restingRun();
    expect(scenario.arrive('t2', storedOn('r1'))).toEqual([]);
    expect(scenario.finish('blocker')).toEqual(['t2@r1']);
  });

  it('waits for the replica of its run\u2019s last turn when its proxy does not know the keeper', () => {
    const scenario = restingRun();
    expect(scenario.arrive('t2', storedOn(null))).toEqual([]);
    expect(scenario.finish('blocker')).toEqual(['t2@r1']);
  });

  it('goes to the keeper, also when its run has moved on or is new', () => {
    const scenario = restingRun();
    expect(scenario.arrive('t2', { run: 'r' })).toEqual(['t2@r2']);
    expect(scenario.arrive('t3', storedOn('r1'))).toEqual([]);
    expect(scenario.arrive('t4', { run: 'new', storedOn: 'r1' })).toEqual([]);
    scenario.finish('t2', 'done');
    expect(scenario.finish('blocker')).toEqual(['t3@r1']);
    expect(scenario.finish('t3', 'done')).toEqual(['t4@r1']);
  });

  it('does not hold up other turns for its replica, nor those of its run', () => {
    const scenario = restingRun();
    expect(scenario.arrive('t2', storedOn('r1'))).toEqual([]);
    expect(scenario.arrive('other')).toEqual(['other@r2']);
    expect(scenario.arrive('side', { run: 'r' })).toEqual(['side@r2']);
  });

  it('moves when the keeper is unhealthy or gone, to be told by another that it has nothing', () => {
    const unhealthy = restingRun();
    unhealthy.arrive('t2', storedOn('r1'));
    expect(unhealthy.probe('r1', null, false)).toEqual(['t2@r2']);
    const gone = restingRun();
    expect(gone.arrive('t2', storedOn('nowhere'))).toEqual(['t2@r2']);
  });

  it('goes anywhere when nothing is known of its run', () => {
    const scenario = restingRun();
    expect(scenario.arrive('t2', { run: 'unknown', storedOn: null })).toEqual(['t2@r2']);
  });
});
