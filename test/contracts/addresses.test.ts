import { expect, it } from 'vitest';
import { AddressOrder, addressList } from '../../contracts/addresses.ts';

it('one address may stand alone, and slashes at the ends go', () => {
  expect(addressList('http://a/')).toEqual(['http://a']);
  expect(addressList(['http://a//', 'http://b'])).toEqual(['http://a', 'http://b']);
});

it('an address that did not answer is asked last, for five seconds', () => {
  let nowMs = 0;
  const order = new AddressOrder(['a', 'b', 'c'], () => nowMs);
  order.noteAway('a');
  expect(order.inTurn()).toEqual(['b', 'c', 'a']);
  nowMs = 4_999;
  expect(order.inTurn()).toEqual(['b', 'c', 'a']);
  nowMs = 5_000;
  expect(order.inTurn()).toEqual(['a', 'b', 'c']);
  order.noteAway('b');
  order.noteAnswered('b');
  expect(order.inTurn()).toEqual(['a', 'b', 'c']);
});

it('all are asked even where none answered', () => {
  const order = new AddressOrder(['a', 'b'], () => 0);
  order.noteAway('a');
  order.noteAway('b');
  expect(order.inTurn()).toEqual(['a', 'b']);
});

it('what has one key goes to one address, and many keys go to all alike', () => {
  const order = new AddressOrder(['a', 'b', 'c'], () => 0);
  const firsts = Array.from({ length: 3_000 }, (_, index) => order.inTurn(`run_${index}`)[0]);
  for (const address of ['a', 'b', 'c']) {
    const share = firsts.filter((first) => first === address).length / firsts.length;
    expect(share).toBeGreaterThan(0.28);
    expect(share).toBeLessThan(0.39);
  }
  const [first] = order.inTurn('run_7');
  expect(order.inTurn('run_7')[0]).toBe(first);
  expect(order.inTurn('run_7').toSorted()).toEqual(['a', 'b', 'c']);
});

it('there must be an address', () => {
  expect(() => new AddressOrder([], () => 0)).toThrow('at least one address is needed');
});
