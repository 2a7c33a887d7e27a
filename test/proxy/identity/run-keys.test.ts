import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Caller, RunId } from '../../../contracts/ids.ts';
import { RunKeys } from '../../../proxy/identity/run-keys.ts';

const lifetimeMs = 100;
const callers = ['me', 'you'] as Caller[];
const runs = ['run-A', 'run-B', 'run-C'] as RunId[];
const allKeys = ['a', 'b', 'c', 'd', 'e', 'f'];

type Step =
  | { do: 'note'; caller: Caller; run: RunId; keys: readonly string[]; afterMs: number }
  | { do: 'forget'; run: RunId; afterMs: number }
  | { do: 'sweep'; afterMs: number };

const afterMs = fc.constantFrom(0, 1, 40, 99, 100, 150);
const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({
      do: fc.constant('note' as const),
      caller: fc.constantFrom(...callers),
      run: fc.constantFrom(...runs),
      keys: fc.array(fc.constantFrom(...allKeys), { minLength: 1, maxLength: 4 }),
      afterMs,
    }),
    fc.record({ do: fc.constant('forget' as const), run: fc.constantFrom(...runs), afterMs }),
    fc.record({ do: fc.constant('sweep' as const), afterMs }),
  ),
  { maxLength: 40 },
);

/** The same rules, written down without a thought for cost. */
class Reference {
  readonly entries = new Map<string, { run: RunId | null; expiresAtMs: number }>();

  note(caller: Caller, run: RunId, keys: readonly string[], nowMs: number): void {
    this.sweep(nowMs);
    for (const key of keys) {
      const known = this.entries.get(`${caller} ${key}`);
      const isShared = known !== undefined && known.run !== run;
      this.entries.set(`${caller} ${key}`, { run: isShared ? null : run, expiresAtMs: nowMs + lifetimeMs });
    }
    for (const [key, entry] of this.entries) {
      if (key.startsWith(`${caller} `) && entry.run === run) entry.expiresAtMs = nowMs + lifetimeMs;
    }
  }

  forget(run: RunId): void {
    for (const [key, entry] of this.entries) if (entry.run === run) this.entries.delete(key);
  }

  sweep(nowMs: number): void {
    for (const [key, entry] of this.entries) if (entry.expiresAtMs <= nowMs) this.entries.delete(key);
  }
}

describe('the keys of runs', () => {
  it('name whom the plain rules name, whatever happens', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const memory = new RunKeys({ maxEntries: 1_000, lifetimeMs });
        const reference = new Reference();
        let nowMs = 0;
        for (const step of all) {
          nowMs += step.afterMs;
          for (const one of [memory, reference]) {
            if (step.do === 'note') one.note(step.caller, step.run, step.keys, nowMs);
            else if (step.do === 'forget') one.forget(step.run);
            else one.sweep(nowMs);
          }
          reference.sweep(nowMs);
          for (const caller of callers) {
            for (const key of allKeys) {
              const expected = reference.entries.get(`${caller} ${key}`);
              expect(memory.find(caller, key, nowMs)?.run).toBe(expected?.run);
            }
          }
        }
        memory.sweep(nowMs);
        expect(memory.size).toBe(reference.entries.size);
        for (const run of runs) memory.forget(run);
        memory.sweep(nowMs + lifetimeMs);
        expect(memory.size).toBe(0);
      }),
    );
  });

  it('are never more than the bound, and the run that was silent longest loses its oldest first', () => {
    const memory = new RunKeys({ maxEntries: 4, lifetimeMs });
    const [me] = callers as [Caller];
    const [runA, runB] = runs as [RunId, RunId];
    memory.note(me, runA, ['a1'], 0);
    memory.note(me, runA, ['a2'], 1);
    memory.note(me, runB, ['b1'], 2);
    memory.note(me, runB, ['b2'], 3);
    memory.note(me, runB, ['b3'], 4);
    const named = ['a1', 'a2', 'b1', 'b2', 'b3'].map((key) => memory.find(me, key, 4)?.run ?? null);
    expect(named).toEqual([null, runA, runB, runB, runB]);
    expect(memory.size).toBe(4);
    for (let n = 0; n < 100; n += 1) memory.note(me, `run-${n}` as RunId, [`key-${n}`], 5);
    expect(memory.size).toBe(4);
  });
});
