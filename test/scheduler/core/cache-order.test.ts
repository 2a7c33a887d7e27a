/** What an engine evicts next, and that nobody is let in who would push a paused resident out. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../contracts/ids.ts';
import { CacheOrder } from '../../../scheduler/core/cache-order.ts';
import { usableShare } from '../../../scheduler/core/capacity.ts';
import { admitted, replica, Scenario, type TurnFields } from './scenario.ts';

const memoryTokens = 1_000;
const nowMs = 50;
const id = (run: number | string): RunId => `${run}` as RunId;

describe('room for more', () => {
  it.each([
    ['what is free', [], 1_000],
    ['what is free beside contexts in use', [['use', 'a', 600]], 400],
    [
      'what finished runs left',
      [
        ['use', 'a', 600],
        ['left', 'b', 300],
      ],
      400,
    ],
    ['not what is paused', [['kept', 'a', 600]], 400],
    [
      'what was left before the oldest pause',
      [
        ['left', 'b', 300],
        ['kept', 'a', 600],
      ],
      400,
    ],
    [
      'not what was left after it',
      [
        ['kept', 'a', 600],
        ['left', 'b', 300],
      ],
      100,
    ],
    [
      'what was left after it once it is back',
      [
        ['kept', 'a', 600],
        ['left', 'b', 300],
        ['use', 'a', 600],
      ],
      400,
    ],
    [
      'what it kept once nobody minds',
      [
        ['kept', 'a', 600],
        ['left', 'b', 300],
        ['release', 'a', 0],
      ],
      1_000,
    ],
  ] as const)('is %s', (_name, acts, expected) => {
    const order = new CacheOrder();
    for (const [act, run, tokens] of acts) {
      if (act === 'use') order.use(id(run), tokens, memoryTokens);
      else if (act === 'release') order.release(id(run));
      else order.leave(id(run), tokens, act === 'kept' ? nowMs + 1 : nowMs, memoryTokens);
    }
    expect(order.hasRoom(expected, memoryTokens, nowMs)).toBe(true);
    expect(order.hasRoom(expected + 1, memoryTokens, nowMs)).toBe(false);
  });

  it('is as in a plain list of contexts, whatever happens', () => {
    const act = fc.record({
      kind: fc.constantFrom('use', 'kept', 'left', 'release'),
      run: fc.integer({ min: 0, max: 7 }),
      tokens: fc.integer({ min: 1, max: 400 }),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), fc.integer({ min: 1, max: 1_000 }), (acts, wanted) => {
        const order = new CacheOrder();
        let list: { run: number; tokens: number; kind: string }[] = [];
        const sum = (): number => list.reduce((total, { tokens }) => total + tokens, 0);
        for (const { kind, run, tokens } of acts) {
          if (kind === 'release') {
            order.release(id(run));
            list = list.map((one) =>
              one.run === run && one.kind === 'kept' ? { ...one, kind: 'left' } : one,
            );
            continue;
          }
          if (kind === 'use') order.use(id(run), tokens, memoryTokens);
          else order.leave(id(run), tokens, kind === 'kept' ? nowMs + 1 : nowMs, memoryTokens);
          list = [...list.filter((one) => one.run !== run), { run, tokens, kind }];
          while (sum() > memoryTokens && list.some((one) => one.kind !== 'use')) {
            const oldest = list.find((one) => one.kind !== 'use');
            if (oldest !== undefined) oldest.tokens -= Math.min(oldest.tokens, sum() - memoryTokens);
            list = list.filter((one) => one.kind === 'use' || one.tokens > 0);
          }
        }
        let room = memoryTokens - sum();
        for (const { kind, tokens } of list.filter((one) => one.kind !== 'use')) {
          if (kind === 'kept') break;
          room += tokens;
        }
        expect(order.size).toBe(sum());
        expect(order.hasRoom(wanted, memoryTokens, nowMs)).toBe(room >= wanted);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a replica that reports its memory', () => {
  const sized = (tokens: number, run: string): TurnFields => ({
    promptTokens: tokens - 100,
    maxTokens: 100,
    run,
  });

  /** Memory of 1,000 tokens. `r` pauses with 200 of them; then another run of 500 ends. */
  function leftAfterPause(): Scenario {
    const scenario = new Scenario([replica('a')], { batchShare: 0 });
    scenario.probe('a', { capacityTokens: memoryTokens });
    scenario.arrive('gone', sized(500, 'gone'));
    scenario.arrive('r1', sized(200, 'r'));
    scenario.finish('r1', 'paused', 'p', { usage: [100, 100] });
    scenario.finish('gone', 'done', 'p', { usage: [400, 100] });
    return scenario;
  }

  it('takes nobody whose context would push a paused resident out, though the sum would allow it', () => {
    const scenario = leftAfterPause();
    expect(200 + 400).toBeLessThan(memoryTokens * usableShare);
    expect(scenario.arrive('new', sized(400, 'new'))).toEqual([]);
    expect(scenario.arrive('r2', sized(300, 'r'))).toEqual(['r2@a', 'new@a']);
  });

  it('takes it when most pauses would be over, with the first tick after that', () => {
    const scenario = leftAfterPause();
    scenario.arrive('new', sized(400, 'new'));
    scenario.nowMs += 999;
    expect(scenario.send({ type: 'ticked' })).toEqual([]);
    scenario.nowMs += 1;
    expect(admitted(scenario.send({ type: 'ticked' }))).toEqual(['new@a']);
    expect(scenario.run('r')?.resident).toBe(true);
  });

  it('takes it when the paused run is ended', () => {
    const scenario = leftAfterPause();
    scenario.arrive('busy', sized(150, 'busy'));
    scenario.arrive('new', sized(400, 'new'));
    scenario.send({ type: 'runEnded', proxy: 'p' as never, run: 'r' as never });
    expect(scenario.replicaOf('new')).toBe('a');
  });

  it('takes one that fits into what is free', () => {
    expect(leftAfterPause().arrive('new', sized(300, 'new'))).toEqual(['new@a']);
  });
});
