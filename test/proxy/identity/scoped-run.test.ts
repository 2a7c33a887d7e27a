import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anonymousCaller, runIdSchema, type Caller } from '../../../contracts/ids.ts';
import {
  ownerKey,
  parseRunName,
  plainRun,
  runNameOf,
  scopedRun,
  type RunName,
  type RunOwner,
} from '../../../proxy/identity/scoped-run.ts';

const owner = (caller: string, named = false): RunOwner => ({ caller: caller as Caller, named });
const name = (text: string): RunName => {
  const parsed = parseRunName(text);
  if (parsed === null) throw new Error(`no name of a run: ${text}`);
  return parsed;
};
const anonymous = owner(anonymousCaller);
const handle = name('run_0123456789abcdefghijAB');

/** Names and callers that are short and made of few parts, so that they meet wherever they can. */
const part = fc.constantFrom('a', 'b', '/', '~', 'a/b', '~a', ' ', 'anonymous', 'run_0123456789abcdefghijAB');
const joined = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
const names = fc
  .oneof(
    joined,
    fc.string({ minLength: 1, maxLength: 128 }),
    fc.constantFrom('x'.repeat(128), `${'x'.repeat(127)}y`),
  )
  .filter((candidate) => parseRunName(candidate) !== null)
  .map((candidate) => candidate as RunName);
const headerOwners = fc
  .oneof(joined, fc.constantFrom('x'.repeat(128), 'caf\u00e9', 'desk@127.0.0.1'))
  .map((caller) => owner(caller));
const tokenOwners = fc
  .constantFrom('a', 'b', 'run_0123456789abcdefghijAB', '.', '-')
  .map((caller) => owner(caller, true));
const owners = fc.oneof(headerOwners, tokenOwners, fc.constant(anonymous));

describe('the run that a caller means by a name', () => {
  it.each([
    [anonymous, 'mine', 'mine'],
    [anonymous, handle, handle],
    [owner('ann'), 'mine', 'ann/mine'],
    [owner('ann', true), 'mine', 'ann/mine'],
    [owner('ann'), handle, handle],
    [owner('ann', true), handle, `ann/${handle}`],
    [owner('desk@127.0.0.1'), 'ses 1', 'desk@127.0.0.1/ses 1'],
    [anonymous, 'team/one', 'anonymous/team/one'],
  ] as const)('%j %j is %j', (who, given, run) => {
    expect(scopedRun(who, name(given))).toBe(run);
  });

  it.each([
    [owner('ann'), 'x'.repeat(125)],
    [owner('a/b'), 'mine'],
    [owner('caf\u00e9'), 'mine'],
    [owner('~x'), 'mine'],
  ])('stands under a hash where the two do not fit side by side: %j', (who, given) => {
    expect(scopedRun(who, name(given))).toMatch(/^~[\w-]{43}$/);
  });

  it('is a run id like any other', () => {
    fc.assert(
      fc.property(owners, names, (who, given) => {
        expect(runIdSchema.safeParse(scopedRun(who, given)).success).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is never the one that another caller means, by whatever name', () => {
    fc.assert(
      fc.property(owners, names, owners, names, (who, given, other, otherGiven) => {
        fc.pre(who.caller !== other.caller);
        // Whoever is believed may bring the turns of any spawned run: a worker does.
        fc.pre(!(isHandle(given) && given === otherGiven && !who.named && !other.named));
        expect(scopedRun(who, given)).not.toBe(scopedRun(other, otherGiven));
      }),
      { numRuns: 20_000 },
    );
  });

  it('is another one for another name', () => {
    fc.assert(
      fc.property(owners, names, names, (who, given, other) => {
        fc.pre(given !== other);
        expect(scopedRun(who, given)).not.toBe(scopedRun(who, other));
      }),
      { numRuns: 20_000 },
    );
  });

  it('of a named token is never one that was spawned', () => {
    fc.assert(
      fc.property(tokenOwners, names, (who, given) => {
        expect(isHandle(scopedRun(who, given))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it('tells its name again, unless it stands under a hash or is another\u2019s', () => {
    fc.assert(
      fc.property(owners, names, (who, given) => {
        const run = scopedRun(who, given);
        expect(runNameOf(who, run)).toBe(run.startsWith('~') ? null : given);
      }),
      { numRuns: 5_000 },
    );
    expect(runNameOf(owner('ann', true), plainRun(name('bob/mine')))).toBeNull();
    expect(runNameOf(owner('ann', true), plainRun(handle))).toBeNull();
    expect(runNameOf(owner('ann'), plainRun(handle))).toBe(handle);
  });
});

describe('what is remembered', () => {
  it('is kept apart for a token\u2019s name and a header that says the same', () => {
    expect(ownerKey(owner('ann', true))).not.toBe(ownerKey(owner('ann')));
    expect(ownerKey(owner('ann', true))).not.toBe(ownerKey(owner('bob', true)));
  });
});

describe('a name of a run', () => {
  it.each(['', ' x', 'x'.repeat(129), 'caf\u00e9', 'a\tb'])('is not %j', (given) => {
    expect(parseRunName(given)).toBeNull();
  });
});

function isHandle(text: string): boolean {
  return /^run_[A-Za-z0-9]{22}$/.test(text);
}
