import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advance, nextEventAtMs } from '../../../../testkit/sim-engine/core/advance.ts';
import type { EngineConfig } from '../../../../testkit/sim-engine/core/engine-config.ts';
import {
  createEngine,
  loadOf,
  type EngineEvent,
  type EngineOutput,
  type EngineRequest,
  type EngineState,
} from '../../../../testkit/sim-engine/core/engine-state.ts';
import { checkInvariants, findBrokenLaws } from '../../../../testkit/sim-engine/core/invariants.ts';
import { blockHashes } from '../../../../testkit/sim-engine/core/tokens.ts';

/** A request over the token numbers of `text`: equal starts are equal prefixes. */
function request(id: string, prompt: readonly number[], outputTokens = 4): EngineRequest {
  const output = Array.from({ length: outputTokens }, (_, index) => 1_000_000 + index);
  return {
    id,
    promptTokens: prompt.length,
    outputTokens,
    blockHashes: blockHashes([...prompt, ...output]),
  };
}

const tokensOf = (length: number, family = 0): number[] =>
  Array.from({ length }, (_, index) => family * 100_000 + index);

/** Runs until the engine is idle and returns everything that happened. */
function drain(state: EngineState): EngineOutput[] {
  const outputs: EngineOutput[] = [];
  for (let atMs = nextEventAtMs(state); atMs !== null; atMs = nextEventAtMs(state)) {
    outputs.push(...advance(state, { type: 'elapsed', atMs }));
    checkInvariants(state);
  }
  return outputs;
}

const submit = (state: EngineState, spec: EngineRequest, atMs = state.nowMs): EngineOutput[] => {
  const outputs = advance(state, { type: 'submit', atMs, request: spec });
  checkInvariants(state);
  return outputs;
};

const finishedAt = (outputs: readonly EngineOutput[], id: string): number | undefined =>
  outputs.find((output) => output.type === 'finished' && output.id === id)?.atMs;
const startedWith = (outputs: readonly EngineOutput[], id: string): number | null => {
  const found = outputs.find((output) => output.type === 'started' && output.id === id);
  return found?.type === 'started' ? found.cachedTokens : null;
};

describe('timing', () => {
  it('takes prefill at 8,000 tokens a second and 6.35 ms for each token of a lone request', () => {
    const state = createEngine();
    submit(state, request('a', tokensOf(800), 3));
    expect(finishedAt(drain(state), 'a')).toBeCloseTo(100 + 3 * 6.35, 6);
  });

  it('takes 0.35 ms more a step for each request that decodes beside it', () => {
    const state = createEngine();
    for (let index = 0; index < 10; index += 1) submit(state, request(`r${index}`, tokensOf(1, index), 100));
    const outputs = drain(state);
    const times = outputs
      .filter((output) => output.type === 'token' && output.id === 'r3')
      .map(({ atMs }) => atMs);
    expect((times[60] ?? 0) - (times[59] ?? 0)).toBeCloseTo(6 + 10 * 0.35, 6);
  });

  it('computes a long prompt in chunks, so that others keep decoding meanwhile', () => {
    const state = createEngine();
    submit(state, request('short', tokensOf(10), 200));
    for (let count = 0; count < 5; count += 1)
      advance(state, { type: 'elapsed', atMs: nextEventAtMs(state) ?? 0 });
    submit(state, request('long', tokensOf(8_000, 1), 1));
    const outputs = drain(state);
    const prefillEnds = finishedAt(outputs, 'long') ?? 0;
    const meanwhile = outputs.filter(
      (output) => output.type === 'token' && output.id === 'short' && output.atMs < prefillEnds,
    );
    expect(meanwhile.length).toBeGreaterThanOrEqual(3);
    const gaps = meanwhile.slice(1).map(({ atMs }, index) => atMs - (meanwhile[index]?.atMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(2_048 / 8 + 10);
  });

  it('does nothing without requests, and says so', () => {
    const state = createEngine();
    expect(nextEventAtMs(state)).toBeNull();
    expect(advance(state, { type: 'elapsed', atMs: 5_000 })).toEqual([]);
    expect(state.nowMs).toBe(5_000);
  });

  it('gives the same outputs for the same events, jitter included', () => {
    const run = (seed: number): EngineOutput[] => {
      const state = createEngine({ jitter: 0.2, seed });
      submit(state, request('a', tokensOf(300), 20));
      submit(state, request('b', tokensOf(100, 1), 20), 7);
      return drain(state);
    };
    expect(run(3)).toEqual(run(3));
    expect(run(3)).not.toEqual(run(4));
  });
});

describe('prefix cache', () => {
  it('reports what a second turn shares with the first, in whole blocks', () => {
    const state = createEngine();
    const first = tokensOf(100);
    expect(startedWith(submit(state, request('a', first)), 'a')).toBe(0);
    drain(state);
    expect(startedWith(submit(state, request('b', [...first, 7, 8, 9])), 'b')).toBe(96);
    drain(state);
    expect(startedWith(submit(state, request('c', tokensOf(100, 1))), 'c')).toBe(0);
  });

  it('keeps the output of a turn for the next one', () => {
    const state = createEngine();
    submit(state, request('a', tokensOf(64), 64));
    drain(state);
    const output = Array.from({ length: 64 }, (_, index) => 1_000_000 + index);
    const outputs = submit(state, request('b', [...tokensOf(64), ...output, 5]));
    // The last token of an output is never computed, so its block is not complete.
    expect(startedWith(outputs, 'b')).toBe(112);
  });

  it('always computes at least one token of a prompt', () => {
    const state = createEngine();
    submit(state, request('a', tokensOf(64)));
    drain(state);
    expect(startedWith(submit(state, request('b', tokensOf(64))), 'b')).toBe(48);
  });

  it('loses the tail of the least recently used conversation first', () => {
    const state = createEngine({ totalBlocks: 20 });
    submit(state, request('old', tokensOf(160), 1));
    drain(state);
    submit(state, request('new', tokensOf(200, 1), 1));
    drain(state);
    const cached = startedWith(submit(state, request('old again', tokensOf(160), 1)), 'old again') ?? 0;
    expect(cached).toBeGreaterThan(0);
    expect(cached).toBeLessThan(144);
  });

  it('shares blocks between requests that run at the same time', () => {
    const state = createEngine();
    submit(state, request('a', tokensOf(320), 50));
    advance(state, { type: 'elapsed', atMs: nextEventAtMs(state) ?? 0 });
    submit(state, request('b', tokensOf(320), 50));
    advance(state, { type: 'elapsed', atMs: nextEventAtMs(state) ?? 0 });
    expect(loadOf(state)).toMatchObject({ running: 2 });
    expect(loadOf(state).usedBlocks).toBeLessThan(2 * 20);
  });
});

describe('limits', () => {
  it('refuses a request beyond the running ones and the queue', () => {
    const state = createEngine({ maxRunning: 1, maxQueue: 1 });
    submit(state, request('a', tokensOf(10)));
    submit(state, request('b', tokensOf(10, 1)));
    expect(submit(state, request('c', tokensOf(10, 2)))).toMatchObject([
      { type: 'refused', id: 'c', reason: 'queue-full' },
    ]);
    expect(loadOf(state)).toMatchObject({ running: 1, waiting: 1 });
  });

  it('refuses what can never fit into its memory or its context', () => {
    const memory = createEngine({ totalBlocks: 4 });
    expect(submit(memory, request('a', tokensOf(60), 10))).toMatchObject([{ reason: 'too-long' }]);
    const context = createEngine({ maxContextTokens: 100 });
    expect(submit(context, request('a', tokensOf(90), 20))).toMatchObject([{ reason: 'too-long' }]);
  });

  it('lets a request wait until memory is free, in order of arrival', () => {
    const state = createEngine({ totalBlocks: 10 });
    submit(state, request('a', tokensOf(100), 8));
    submit(state, request('b', tokensOf(100, 1), 8));
    submit(state, request('c', tokensOf(16, 2), 8));
    expect(loadOf(state)).toMatchObject({ running: 1, waiting: 2 });
    const outputs = drain(state);
    const order = outputs.flatMap((output) => (output.type === 'started' ? [output.id] : []));
    expect(order).toEqual(['b', 'c']);
  });

  it('preempts the request admitted last when memory runs out, and finishes both', () => {
    const state = createEngine({ totalBlocks: 8 });
    submit(state, request('a', tokensOf(40), 60));
    submit(state, request('b', tokensOf(40, 1), 60));
    const outputs = drain(state);
    const preempted = outputs.filter((output) => output.type === 'preempted').map(({ id }) => id);
    expect(new Set(preempted)).toEqual(new Set(['b']));
    for (const id of ['a', 'b']) {
      const indices = outputs.flatMap((output) =>
        output.type === 'token' && output.id === id ? [output.index] : [],
      );
      expect(indices).toEqual(Array.from({ length: 60 }, (_, index) => index));
    }
  });

  it('frees place and memory of an aborted request at once', () => {
    const state = createEngine({ maxRunning: 1 });
    submit(state, request('a', tokensOf(500), 500));
    submit(state, request('b', tokensOf(20, 1), 2));
    advance(state, { type: 'abort', atMs: 10, id: 'a' });
    checkInvariants(state);
    expect(loadOf(state)).toMatchObject({ running: 0, usedBlocks: 0 });
    const outputs = drain(state);
    expect(finishedAt(outputs, 'b')).toBeDefined();
    expect(outputs.some((output) => output.id === 'a')).toBe(false);
  });
});

describe('conservation laws', () => {
  const commands = fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          type: fc.constant('submit' as const),
          waitMs: fc.integer({ min: 0, max: 40 }),
          family: fc.integer({ min: 0, max: 3 }),
          promptTokens: fc.integer({ min: 1, max: 150 }),
          outputTokens: fc.integer({ min: 1, max: 80 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant('abort' as const),
          waitMs: fc.integer({ min: 0, max: 40 }),
          nth: fc.nat(60),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          type: fc.constant('elapsed' as const),
          waitMs: fc.integer({ min: -10, max: 400 }),
        }),
      },
    ),
    { maxLength: 60 },
  );
  const configs: fc.Arbitrary<Partial<EngineConfig>> = fc.record({
    totalBlocks: fc.integer({ min: 3, max: 30 }),
    maxRunning: fc.integer({ min: 1, max: 6 }),
    maxQueue: fc.integer({ min: 0, max: 6 }),
    chunkTokens: fc.integer({ min: 1, max: 200 }),
    jitter: fc.constantFrom(0, 0.3),
  });

  it('hold after every event, and every accepted request ends with all of its tokens or aborted', () => {
    fc.assert(
      fc.property(configs, commands, (config, list) => {
        const state = createEngine(config);
        const outputs: EngineOutput[] = [];
        const lengths = new Map<string, number>();
        for (const [index, command] of list.entries()) {
          const atMs = state.nowMs + command.waitMs;
          let event: EngineEvent = { type: 'elapsed', atMs };
          if (command.type === 'abort') event = { type: 'abort', atMs, id: `r${command.nth}` };
          if (command.type === 'submit') {
            lengths.set(`r${index}`, command.outputTokens);
            const prompt = tokensOf(command.promptTokens, command.family);
            event = { type: 'submit', atMs, request: request(`r${index}`, prompt, command.outputTokens) };
          }
          outputs.push(...advance(state, event));
          checkInvariants(state);
        }
        outputs.push(...drain(state));
        expect(loadOf(state)).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 });
        for (const output of outputs) {
          if (output.type !== 'finished') continue;
          const indices = outputs.flatMap((other) =>
            other.type === 'token' && other.id === output.id ? [other.index] : [],
          );
          expect(indices).toEqual(Array.from({ length: lengths.get(output.id) ?? -1 }, (_, index) => index));
        }
        const times = outputs.map(({ atMs }) => atMs);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });

  it('are really checked: each kind of damage is found', () => {
    const sound = (): EngineState => {
      const state = createEngine({ totalBlocks: 8 });
      submit(state, request('a', tokensOf(40), 60));
      submit(state, request('b', tokensOf(40, 1), 60));
      return state;
    };
    const damages: ((state: EngineState) => void)[] = [
      (state) => (state.pool.references[0] = 5),
      (state) => (state.pool.unused += 1),
      (state) => void state.running.pop(),
      (state) => (state.counters.accepted += 1),
      (state) => state.pool.cached.set(1, 0),
      (state) => (state.step = null),
      (state) => state.running[0]?.blocks.pop(),
    ];
    expect(findBrokenLaws(sound())).toEqual([]);
    for (const damage of damages) {
      const state = sound();
      damage(state);
      expect(findBrokenLaws(state)).not.toEqual([]);
    }
  });
});
