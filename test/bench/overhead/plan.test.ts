import { describe, expect, it } from 'vitest';
import { armNames } from '../../../bench/overhead/arms/arm.ts';
import { parseOverheadOptions } from '../../../bench/overhead/options.ts';
import { barRate, orderOf, planOf, seedOf } from '../../../bench/overhead/plan.ts';
import { countConnections, parseCoreList } from '../../../bench/overhead/processes.ts';
import { parseProxyCounts } from '../../../bench/overhead/proxy-counts.ts';
import { bodyBytes, bodyMaker } from '../../../bench/overhead/request-bodies.ts';

describe('the plan', () => {
  it('gives each arm its turn in every repeat, and each repeat another first arm', () => {
    const orders = [0, 1, 2, 3].map((repeat) => orderOf(['a', 'b', 'c'], repeat));
    expect(orders.map((order) => order.join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
    expect(orderOf([], 1)).toEqual([]);
  });

  it('shortens windows when it has to be quick, but neither repeats nor the soak', () => {
    const [full, quick] = [planOf(false), planOf(true)];
    expect(quick.repeats).toBe(full.repeats);
    expect(quick.repeats).toBeGreaterThanOrEqual(3);
    expect(quick.soak).toEqual(full.soak);
    expect(quick.soak.requests).toBeGreaterThanOrEqual(100_000);
    expect(quick.rates.map(({ ratePerSecond }) => ratePerSecond)).toContain(barRate);
  });

  it('has another seed in each repeat and at each rate', () => {
    const seeds = [0, 1, 2].flatMap((repeat) => [50, 200].map((rate) => seedOf(repeat, rate)));
    expect(new Set(seeds).size).toBe(seeds.length);
  });
});

describe('the words behind the command', () => {
  it('choose arms, always with direct calls and fermata among them', () => {
    expect(parseOverheadOptions([])).toEqual({ quick: false, soak: false, arms: armNames });
    expect(parseOverheadOptions(['--soak', '--quick', '--arms=portkey'])).toEqual({
      quick: true,
      soak: true,
      arms: ['direct', 'fermata', 'portkey'],
    });
  });

  it.each(['--fast', 'soak', '--arms=nginx', '--arms='])('are refused when unknown: %s', (word) => {
    expect(parseOverheadOptions([word])).toBeNull();
  });
});

describe('a request body', () => {
  const options = { model: 'm', stream: true, maxTokens: 7 };

  it('is a chat request of exactly 4 KB whose conversations differ', () => {
    const bodyOf = bodyMaker(options);
    const bodies = [bodyOf('1'), bodyOf('2')];
    for (const body of bodies) expect(body).toHaveLength(bodyBytes);
    const [one, two] = bodies.map((body) => JSON.parse(body.toString()) as { messages: unknown[] });
    expect(one).toMatchObject({ model: 'm', stream: true, max_tokens: 7 });
    expect(one?.messages).toHaveLength(2);
    expect(one?.messages[0]).toEqual(two?.messages[0]);
    expect(one?.messages[1]).not.toEqual(two?.messages[1]);
  });

  it('goes on with the same conversation in a later turn', () => {
    const bodyOf = bodyMaker(options);
    const [first, third] = [1, 3].map(
      (turn) => (JSON.parse(bodyOf('1', turn).toString()) as { messages: unknown[] }).messages,
    );
    expect(third).toHaveLength(6);
    expect(third?.slice(0, 2)).toEqual(first);
    expect(third?.slice(2)).toMatchObject(
      ['assistant', 'user', 'assistant', 'user'].map((role) => ({ role })),
    );
  });
});

describe('what the machine tells', () => {
  it('names processors one by one', () => {
    expect(parseCoreList('0-2,5')).toEqual([0, 1, 2, 5]);
    expect(parseCoreList('3')).toEqual([3]);
  });

  it('counts the connections of a port that its server has not given up', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue',
      '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000',
      '   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000',
      '   2: 0100007F:D431 0100007F:1F90 01 00000000:00000000',
      '   3: 0100007F:1F90 0100007F:D432 08 00000000:00000000',
      '   4: 0100007F:1F90 0100007F:D433 06 00000000:00000000',
    ].join('\n');
    expect(countConnections(table, 8_080)).toBe(2);
    expect(countConnections(table, 80)).toBe(0);
  });

  it('does not take a missing gauge of the proxy for zero', () => {
    expect(parseProxyCounts('fermata_proxy_active 3\nfermata_proxy_held 2\n')).toEqual({
      held: 2,
      active: 3,
    });
    expect(() => parseProxyCounts('fermata_proxy_active 3\n')).toThrow('fermata_proxy_held');
  });
});
