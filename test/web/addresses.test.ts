import { describe, expect, it } from 'vitest';
import { linkToRun, parseRoute } from '../../web/model/parse-route.ts';
import { filterFrom, filterQuery, type Filter } from '../../web/model/run-order.ts';

const handle = `run_${'a1B2'.repeat(5)}zz`;

describe('addresses of the page', () => {
  it('a link to a run leads to that run', () => {
    expect(parseRoute(linkToRun(handle))).toEqual({ view: 'run', handle });
  });

  it.each(['', '#', '#/', '#/runs', '#/runs/run_short', '#/runs/../x', '#/nowhere', '#main'])(
    '%j is the list',
    (hash) => {
      expect(parseRoute(hash).view).toBe('runs');
    },
  );

  it('approvals and pool have addresses of their own', () => {
    expect(parseRoute('#/approvals')).toEqual({ view: 'approvals' });
    expect(parseRoute('#/pool')).toEqual({ view: 'pool' });
  });

  it.each<Filter>([
    { statuses: [], class: null, text: '', caller: '', children: false },
    { statuses: ['Running', 'Failed'], class: 'batch', text: 'a & b=#?', caller: 'me too', children: true },
  ])('a filter comes back from its address: %j', (filter) => {
    const route = parseRoute(filterQuery(filter));
    expect(route.view === 'runs' ? filterFrom(route.query) : null).toEqual(filter);
  });

  it('what an address has of unknown words filters nothing', () => {
    const filter = filterFrom(new URLSearchParams('status=Nope,Completed&class=gold'));
    expect(filter).toMatchObject({ statuses: ['Completed'], class: null });
  });
});
