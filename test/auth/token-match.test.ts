import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cappedClass, isAdmin, openGrant, serviceGrant, tokenName } from '../../auth/grant.ts';
import { bearerToken, grantFor, TokenTable } from '../../auth/token-match.ts';
import type { NamedToken } from '../../auth/tokens-file.ts';

const named = (name: string, token: string, more: Partial<NamedToken> = {}): NamedToken => ({
  name,
  sha256: createHash('sha256').update(token).digest('hex'),
  admin: false,
  ...more,
});

const table = new TokenTable('the-service-token', [
  named('ann', 'token-of-ann'),
  named('farm', 'token-of-farm', { class: 'batch' }),
  named('ops', 'token-of-ops', { admin: true }),
]);
const ann = { kind: 'granted', name: 'ann', classCeiling: null, admin: false };

describe('the token of a request', () => {
  it.each([
    ['Bearer token-of-ann', 'token-of-ann'],
    ['bearer token-of-ann', 'token-of-ann'],
    ['BEARER   token-of-ann  ', 'token-of-ann'],
    ['Bearer', null],
    ['Bearer ', null],
    ['Bearer two words', null],
    ['Basic token-of-ann', null],
    ['token-of-ann', null],
    ['', null],
    [undefined, null],
  ])('in %j is %j', (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });

  it('tells who asks and what that one may do', () => {
    expect(table.find('the-service-token')).toEqual(serviceGrant);
    expect(table.find('token-of-ann')).toEqual(ann);
    expect(table.find('token-of-farm')).toMatchObject({ name: 'farm', classCeiling: 'batch', admin: false });
    expect(table.find('token-of-ops')).toMatchObject({ name: 'ops', admin: true });
  });

  it('is denied when it is any other text, such as one that only begins or ends like a known one', () => {
    const known = ['the-service-token', 'token-of-ann', 'token-of-farm', 'token-of-ops'];
    const near = fc.constantFrom(...known).chain((token) =>
      fc.oneof(
        fc.nat(token.length - 1).map((length) => token.slice(0, length)),
        fc.string({ minLength: 1 }).map((tail) => token + tail),
        fc.constant(token.toUpperCase()),
        fc.constant(createHash('sha256').update(token).digest('hex')),
      ),
    );
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (token) => {
        fc.pre(!known.includes(token));
        expect(table.find(token)).toEqual({ kind: 'denied' });
      }),
    );
    expect(table.find('x'.repeat(100_000))).toEqual({ kind: 'denied' });
  });

  it('may be in x-api-key where Anthropic\u2019s clients are served, and nowhere else', () => {
    expect(grantFor(table, { 'x-api-key': 'token-of-ann' }, true)).toEqual(ann);
    expect(grantFor(table, { 'x-api-key': 'token-of-ann' }, false).kind).toBe('denied');
    const both = { authorization: 'Bearer sk-unused', 'x-api-key': 'token-of-ann' };
    expect(grantFor(table, both, true)).toEqual(ann);
    const two = { authorization: 'Bearer token-of-ops', 'x-api-key': 'token-of-ann' };
    expect(grantFor(table, two, true)).toMatchObject({ name: 'ops' });
    expect(grantFor(table, { 'x-api-key': '' }, true).kind).toBe('denied');
    expect(grantFor(table, {}, true).kind).toBe('denied');
  });

  it('does not matter where none is set', () => {
    expect(grantFor(null, { authorization: 'Bearer x' }, true)).toBe(openGrant);
  });

  it('that is both named and the service\u2019s is the service\u2019s, so that no name can lock the services out', () => {
    expect(new TokenTable('same-token', [named('ann', 'same-token')]).find('same-token')).toBe(serviceGrant);
  });

  it('says nothing when there is no service token: an empty one opens no door', () => {
    expect(new TokenTable(null, []).find('')).toEqual({ kind: 'denied' });
  });
});

describe('what a grant allows', () => {
  it.each([
    [openGrant, null, true, 'interactive'],
    [serviceGrant, null, true, 'interactive'],
    [table.find('token-of-ann'), 'ann', false, 'interactive'],
    [table.find('token-of-farm'), 'farm', false, 'batch'],
    [table.find('token-of-ops'), 'ops', true, 'interactive'],
  ] as const)('%j: name %j, admin %j, an interactive request is %j', (grant, name, admin, wanted) => {
    if (grant.kind === 'denied') throw new Error('denied');
    expect([tokenName(grant), isAdmin(grant), cappedClass(grant, 'interactive')]).toEqual([
      name,
      admin,
      wanted,
    ]);
    expect(cappedClass(grant, 'batch')).toBe('batch');
  });
});
