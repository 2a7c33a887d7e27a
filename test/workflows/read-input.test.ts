import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runInputSchema } from '../../contracts/run.ts';
import { readInput } from '../../workflows/read-input.ts';

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'x',
    'interactive',
    'batch',
    0,
    -1,
    1.5,
    10_001,
    1e6,
    1e16,
    true,
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    ['kit__lookup'],
    [''],
    [1],
    Array(257).fill('t'),
    'c'.repeat(128),
    'c'.repeat(129),
    { tokens: 1 },
    { tokens: 0 },
    { toolCalls: 10_000_001 },
    { seconds: 1.5, tokens: 3 },
    { seconds: 31_536_000, toolCalls: 1 },
    { euros: 1 },
    { tokens: 0, toolCalls: null },
    { tokens: 1.5, toolCalls: 1 },
    { tokens: null, toolCalls: 3, seconds: 1 },
    'run_0123456789abcdefghijAB',
  ),
  fc.anything({ maxDepth: 1 }),
);
const names = [
  'task',
  'model',
  'class',
  'system',
  'tools',
  'maxToolCalls',
  'maxTokens',
  'parallelToolCalls',
  'caller',
  'traceparent',
  'approveTools',
  'budget',
  'allowance',
  'parent',
  'root',
  'unknown',
];
const inputs = fc
  .tuple(fc.dictionary(fc.constantFrom(...names), odd), fc.boolean())
  .map(([values, sound]) => (sound ? { ...values, task: 'a task', caller: 'tests' } : values));

describe('the input of a run', () => {
  it('is read as its schema says', () => {
    let accepted = 0;
    fc.assert(
      fc.property(inputs, (given) => {
        const read = readInput(given);
        const parsed = runInputSchema.safeParse(given);
        expect(read.kind).toBe(parsed.success ? 'ok' : 'faults');
        accepted += parsed.success ? 1 : 0;
        expect(read.kind === 'ok' ? read.input : null).toEqual(parsed.data ?? null);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it.each([
    [null, 'must be an object'],
    [{ caller: 'c' }, 'task: missing'],
    [{ task: 't', caller: 'c', maxTokens: -1 }, 'maxTokens: must be a whole number from 0 to 1000000'],
    [{ task: 't', caller: 'c', depth: 1 }, 'depth: no such field'],
    [{ task: 't', caller: 'c', budget: 1 }, 'budget: must be an object'],
    [
      { task: 't', caller: 'c', budget: { tokens: 0 } },
      'budget: tokens: must be a whole number from 1 to 1000000000000',
    ],
    [{ task: 't', caller: 'c', budget: { euros: 1 } }, 'budget: euros: no such limit'],
    [
      { task: 't', caller: 'c', parent: 'x' },
      'parent: must be a handle such as run_ followed by 22 letters and digits',
    ],
  ])('%j is told what is wrong with it', (given, fault) => {
    expect(readInput(given)).toEqual({ kind: 'faults', faults: [fault] });
  });
});
