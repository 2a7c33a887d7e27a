import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nameTools, toolNamePattern } from '../../../activities/tool-calls/tool-names.ts';

const pairs: [string, string][] = [
  ['crm', 'stock.items.find'],
  ['crm', 'account-settings/patch'],
  ['crm', 'größe abfragen'],
  ['crm', '查询'],
  ['a-very-long-server-name-for-the-reporting-department', 'fetch_quarterly_numbers_for_region_north'],
  ['a-very-long-server-name-for-the-reporting-department', 'fetch_quarterly_numbers_for_region_south'],
  ['wiki', 'search'],
  ['tracker', 'search'],
  ['a', 'b__c'],
  ['a__b', 'c'],
  ['x', 'get.item'],
  ['x', 'get_item'],
];

function mapping(origins: readonly [string, string][]): Map<string, string> {
  const names = nameTools(origins.map(([server, serverTool]) => ({ server, serverTool })));
  return new Map(origins.map((origin, index) => [JSON.stringify(origin), names[index] ?? '']));
}

describe('tool names (M09)', () => {
  it('fit what engines accept and are unique', () => {
    const names = [...mapping(pairs).values()];
    expect(names).toSatisfy((all: string[]) => all.every((name) => toolNamePattern.test(name)));
    expect(new Set(names).size).toBe(12);
  });

  it('are the same whatever order the servers connect in', () => {
    const listed = mapping(pairs);
    expect(mapping(pairs.toReversed())).toEqual(new Map([...listed].toReversed()));
    expect(Object.fromEntries(mapping(pairs.toSorted((a, b) => a.join().localeCompare(b.join()))))).toEqual(
      Object.fromEntries(listed),
    );
  });

  it('are the plain joined names where that is possible', () => {
    expect(mapping(pairs).get('["wiki","search"]')).toBe('wiki__search');
    expect(mapping(pairs).get('["x","get_item"]')).toBe('x__get_item');
  });

  it('are unique and fitting for any servers and tools', () => {
    const part = fc.oneof(fc.string({ maxLength: 80 }), fc.stringMatching(/^[a_]{0,6}$/));
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(part, part), { selector: (pair) => JSON.stringify(pair), maxLength: 40 }),
        (origins) => {
          const names = [...mapping(origins).values()];
          expect(new Set(names).size).toBe(origins.length);
          expect(names.every((name) => toolNamePattern.test(name))).toBe(true);
        },
      ),
    );
  });

  it('lead back to their tools, and stay the same in any order', () => {
    const part = fc.oneof(fc.string({ maxLength: 80 }), fc.stringMatching(/^[a_]{0,6}$/));
    const origins = fc.uniqueArray(fc.tuple(part, part), {
      selector: (pair) => JSON.stringify(pair),
      maxLength: 20,
    });
    const twoOrders = origins.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
    );
    fc.assert(
      fc.property(twoOrders, ([first, second]) => {
        const names = mapping(first);
        const back = new Map([...names].map(([origin, name]) => [name, origin]));
        expect([...names].map(([, name]) => back.get(name))).toEqual([...names.keys()]);
        expect(Object.fromEntries(mapping(second))).toEqual(Object.fromEntries(names));
      }),
    );
  });
});
