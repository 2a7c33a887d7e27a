import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllOptions } from '../../../bench/all/options.ts';
import { commandOf, limitOf, planOf, type Entry } from '../../../bench/all/plan.ts';
import type { EntryOutcome } from '../../../bench/all/run-entry.ts';
import { barsOf, markdownTable } from '../../../bench/all/table.ts';

const context = { date: '2026-11-30T08:00:00Z', node: 'v20', packages: {} };
const decide: EntryOutcome = {
  name: 'decide',
  seconds: 61.4,
  fault: null,
  report: {
    context,
    bars: [
      {
        name: 'decide p50 over direct',
        value: 1.0449,
        op: '<=',
        limit: 1.1,
        spread: { median: 1.0449, lowest: 1.02, highest: 1.083_33 },
      },
      { name: 'runs lost', value: 1, op: '=', limit: 0 },
    ],
  },
};
const broken: EntryOutcome = { name: 'flood', seconds: 2, report: null, fault: 'ended with 1 | no result' };
const facts = {
  machine: { processor: 'a processor', cores: 2, memoryGiB: 24, system: 'Linux' },
  date: '2026-11-30 08:00',
  node: 'v20',
  versions: { smg: '1.13.0', 'sglang-router': '0.3.2' },
  minutes: 12.3,
};

describe('the table of all bars', () => {
  const plan = planOf(true, ['decide', 'flood']);
  const lines = markdownTable(plan, [decide, broken], facts).split('\n');

  it('says on what machine, when and against what it was measured', () => {
    expect(lines[0]).toBe('2026-11-30 08:00, a processor, 2 cores, 24 GiB, Linux, Node v20; 12 min in all.');
    expect(lines[1]).toBe('Measured against sglang-router 0.3.2, smg 1.13.0.');
  });

  it('has a row a bar with its spread, its limit and its command', () => {
    expect(lines).toContain(
      '| decide p50 over direct | 1.045 | 1.02..1.083 | <= 1.1 | ok | `npm run bench -- decide --quick` (61 s) |',
    );
    expect(lines).toContain(
      '| decide runs lost | 1 |  | = 0 | **missed** | `npm run bench -- decide --quick` (61 s) |',
    );
  });

  it('says of a benchmark without a result why there is none, as a missed bar', () => {
    const command = plan.filter(({ name }) => name === 'flood').map(commandOf);
    expect(lines).toContain(
      `| flood gave a result | ended with 1 \\| no result |  |  | **missed** | \`${command.join()}\` (2 s) |`,
    );
    expect(barsOf(broken)).toMatchObject([{ value: null }]);
  });

  it('takes no bar of a benchmark that was stopped', () => {
    expect(barsOf({ ...decide, fault: 'stopped after its 60 s' })).toMatchObject([
      { name: 'decide gave a result', value: null },
    ]);
  });
});

describe('the plan of all benchmarks', () => {
  it('fits into half an hour with --quick', () => {
    const seconds = planOf(true).reduce((sum, { shareSeconds }) => sum + shareSeconds, 0);
    expect(seconds).toBeLessThan(30 * 60);
  });

  it('gives what one leaves over to those after it, and never more than all shares together', () => {
    const entry = (shareSeconds: number): Entry => ({ name: 'x', script: 'bench', words: [], shareSeconds });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.double({ min: 0, max: 1, noNaN: true })), {
          minLength: 1,
        }),
        (given) => {
          const plan = given.map(([share]) => entry(share));
          let spentMs = 0;
          for (const [index, [share, used]] of given.entries()) {
            const limitMs = limitOf(plan, index, spentMs);
            expect(limitMs).toBeGreaterThanOrEqual(share * 1_000 - 1e-6);
            spentMs += limitMs * used;
          }
          expect(spentMs).toBeLessThanOrEqual(given.reduce((sum, [share]) => sum + share * 1_000, 0) + 1e-3);
        },
      ),
    );
  });

  it('knows its commands', () => {
    expect(planOf(false, ['sim-flood', 'steps']).map(commandOf)).toEqual([
      'npm run sim -- flood',
      'npm run bench -- steps',
    ]);
  });

  it('refuses words and names that it does not know', () => {
    expect(parseAllOptions(['--quick', '--only=decide,steps'])?.map(({ name }) => name)).toEqual([
      'decide',
      'steps',
    ]);
    expect(parseAllOptions(['--fast'])).toBeNull();
    expect(parseAllOptions(['--only=decide,nothing'])).toBeNull();
  });
});
