import { describe, expect, it } from 'vitest';
import { filterFrom, inOrder, listQuery, shows } from '../../web/model/run-order.ts';
import { madeRun } from './made-run.ts';

const none = filterFrom(new URLSearchParams('children=true'));

describe('the list of runs', () => {
  it('has those at work first, the latest start first, then ended ones, the latest end first', () => {
    const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
    const runs = [
      madeRun({ handle: 'ended early', status: 'Completed', startedAt: at(5), endedAt: at(6) }),
      madeRun({ handle: 'old', startedAt: at(1) }),
      madeRun({ handle: 'ended late', status: 'Failed', startedAt: at(0), endedAt: at(9) }),
      madeRun({ handle: 'new', status: 'AwaitingApproval', startedAt: at(4) }),
    ];
    const order = runs.toSorted(inOrder).map(({ handle }) => handle);
    expect(order).toEqual(['new', 'old', 'ended late', 'ended early']);
    expect(
      runs
        .toReversed()
        .toSorted(inOrder)
        .map(({ handle }) => handle),
    ).toEqual(order);
  });

  it.each([
    [{ statuses: ['Failed' as const] }, false],
    [{ statuses: ['Failed' as const, 'Running' as const] }, true],
    [{ class: 'batch' as const }, false],
    [{ class: 'interactive' as const }, true],
    [{ text: '  HERON ' }, true],
    [{ text: 'stork' }, false],
    [{ caller: 'ann' }, true],
    [{ caller: 'bob' }, false],
  ])('shows by %j what the server would list', (part, expected) => {
    expect(shows({ ...none, ...part }, madeRun())).toBe(expected);
  });

  it('leaves out sub-agents unless they are wanted', () => {
    const child = madeRun({ parent: 'run_1111111111111111111111' });
    expect([shows(none, child), shows({ ...none, children: false }, child)]).toEqual([true, false]);
  });

  it('asks the server for exactly the filter, the place and the size of a page', () => {
    const filter = { ...none, statuses: ['Running' as const], text: ' a ', children: false };
    const query = new URLSearchParams(listQuery(filter, 'cur', 7));
    expect(Object.fromEntries(query)).toEqual({
      status: 'Running',
      text: 'a',
      root: 'true',
      cursor: 'cur',
      limit: '7',
    });
  });
});
