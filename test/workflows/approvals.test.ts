import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { approvalFailureTypes, memoTextLimit } from '../../contracts/run-names.ts';
import { callsPerReplyLimit } from '../../workflows/next-step.ts';
import { approvalLines } from '../../workflows/approval-lines.ts';
import {
  decide,
  decideBySignal,
  decidedLimit,
  decisionOf,
  latestDecisions,
  listedApprovals,
  needsApproval,
  noApprovals,
  openApproval,
  tellDecided,
  type ApprovableCall,
  type Approvals,
} from '../../workflows/approvals.ts';

const call = (id: string, page = id, name = 'web__delete_page'): ApprovableCall => ({
  id,
  name,
  arguments: JSON.stringify({ page }),
});

/** The state after these calls were opened, and their approval ids. */
function opened(...calls: ApprovableCall[]): { approvals: Approvals; ids: string[] } {
  let approvals = noApprovals;
  const ids = calls.map((one) => {
    const next = openApproval(approvals, 'run_x', one);
    ({ approvals } = next);
    return next.id;
  });
  return { approvals, ids };
}

function accepted(approvals: Approvals, decision: unknown): Approvals {
  const outcome = decide(approvals, decision);
  if (outcome.kind === 'refused') throw new Error(outcome.words);
  return outcome.approvals;
}

describe('a call needs the user', () => {
  const hints = [true, false, undefined];
  const cases = hints.flatMap((destructive) =>
    hints.flatMap((readOnly) => [true, false].map((named) => ({ destructive, readOnly, named }))),
  );

  it.each(cases)(
    'when it is named, or destructive and not read-only: %o',
    ({ destructive, readOnly, named }) => {
      const tool = {
        name: 'a',
        annotations: {
          ...(destructive === undefined ? {} : { destructiveHint: destructive }),
          ...(readOnly === undefined ? {} : { readOnlyHint: readOnly }),
        },
      };
      const expected = named || (destructive === true && readOnly !== true);
      expect(needsApproval(tool, named ? ['b', 'a'] : ['b'])).toBe(expected);
    },
  );

  it('not because another name begins alike', () => {
    expect(needsApproval({ name: 'web__look', annotations: {} }, ['web__lookup', 'web'])).toBe(false);
  });
});

describe('an approval id', () => {
  it('is the same for the same call of the same run, whenever it is opened', () => {
    const [first] = opened(call('a')).ids;
    expect(opened(call('a')).ids[0]).toBe(first);
    expect(opened(call('b'), call('a')).ids[1]).toBe(first);
    expect(first).toMatch(/^apr_[0-9a-f]{16}$/);
  });

  it('is another one for other arguments, another tool, another call and another run', () => {
    const ids = [
      openApproval(noApprovals, 'run_x', call('a')).id,
      openApproval(noApprovals, 'run_y', call('a')).id,
      openApproval(noApprovals, 'run_x', call('a', 'b')).id,
      openApproval(noApprovals, 'run_x', call('b', 'a')).id,
      openApproval(noApprovals, 'run_x', call('a', 'a', 'web__add_note')).id,
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is never used twice, even where the digests meet', () => {
    const { approvals, ids } = opened(call('a'), call('a'));
    expect(ids[1]).toBe(`${ids[0]}_2`);
    const after = accepted(approvals, { id: ids[0], allow: true, by: 'ann' });
    expect(openApproval(after, 'run_x', call('a')).id).toBe(`${ids[0]}_3`);
  });

  it('keeps the arguments to the letter', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (one, other) => {
        const ask = (text: string) =>
          openApproval(noApprovals, 'run_x', { id: 'a', name: 't', arguments: text });
        expect(ask(one).approvals.open[0]?.arguments).toBe(one);
        expect(ask(one).id === ask(other).id).toBe(one === other);
      }),
    );
  });
});

describe('a decision', () => {
  it('closes its approval and leaves the others open, in order', () => {
    const { approvals, ids } = opened(call('a'), call('b'), call('c'));
    const after = accepted(approvals, { id: ids[1], allow: false, by: 'ann' });
    expect(after.open.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
    expect(after.decided).toEqual([{ id: ids[1], tool: 'web__delete_page', allow: false, by: 'ann' }]);
    expect(decisionOf(after, ids[0] ?? '')).toBeNull();
  });

  it('that comes second is refused, and told by whom and how the first was made', () => {
    const { approvals, ids } = opened(call('a'));
    const after = accepted(approvals, { id: ids[0], allow: false, by: 'ann' });
    const second = decide(after, { id: ids[0], allow: true, by: 'bob' });
    expect(second).toEqual({
      kind: 'refused',
      type: approvalFailureTypes.decided,
      words: `approval ${ids[0]} was already decided: call of web__delete_page, declined by ann`,
      decided: { id: ids[0], tool: 'web__delete_page', allow: false, by: 'ann' },
    });
  });

  it('for an id that is not known is refused, and told what is open', () => {
    const { approvals, ids } = opened(call('a'), call('b'));
    const outcome = decide(approvals, { id: 'apr_nope', allow: true, by: 'ann' });
    expect(outcome).toMatchObject({ kind: 'refused', type: approvalFailureTypes.unknown, decided: null });
    expect(outcome).toHaveProperty(
      'words',
      `no approval 'apr_nope' is open in this run; open now: ${ids.join(', ')}`,
    );
    expect(decide(noApprovals, { id: 'apr_nope', allow: true, by: 'ann' })).toHaveProperty(
      'words',
      "no approval 'apr_nope' is open in this run; no call waits for approval now",
    );
  });

  const useless: unknown[] = [
    null,
    undefined,
    'yes',
    7,
    [],
    {},
    { id: '', allow: true, by: 'ann' },
    { id: 'x'.repeat(129), allow: true, by: 'ann' },
    { id: 7, allow: true, by: 'ann' },
    { id: 'apr_1', by: 'ann' },
    { id: 'apr_1', allow: 1, by: 'ann' },
    { id: 'apr_1', allow: 'false', by: 'ann' },
    { id: 'apr_1', allow: true },
    { id: 'apr_1', allow: true, by: '' },
    { id: 'apr_1', allow: true, by: 'x'.repeat(257) },
    { id: 'apr_1', allow: true, by: 'ann', always: true },
  ];
  it.each(useless.map((decision) => [decision]))('that is none is refused in one line: %j', (decision) => {
    const outcome = decide(opened(call('a')).approvals, decision);
    expect(outcome).toMatchObject({ kind: 'refused', type: approvalFailureTypes.invalid, decided: null });
    expect(outcome.kind === 'refused' && outcome.words).toMatch(/^[^\n]+expected \{"id"[^\n]+$/);
  });

  it('counts once in any interleaving of openings and answers, and only for its own call', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('open' as const), page: fc.nat(3) }),
      fc.record({ kind: fc.constant('answer' as const), which: fc.nat(12), allow: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let approvals = noApprovals;
        const asked: { id: string; text: string }[] = [];
        const firstAnswers = new Map<string, boolean>();
        for (const [index, one] of steps.entries()) {
          if (one.kind === 'open') {
            const made = call(`c${index}`, `page ${one.page}`);
            const next = openApproval(approvals, 'run_x', made);
            ({ approvals } = next);
            asked.push({ id: next.id, text: made.arguments });
            continue;
          }
          const target = asked[one.which];
          if (target === undefined) continue;
          const outcome = decide(approvals, { id: target.id, allow: one.allow, by: `step ${index}` });
          expect(outcome.kind).toBe(firstAnswers.has(target.id) ? 'refused' : 'accepted');
          if (outcome.kind === 'accepted') {
            firstAnswers.set(target.id, one.allow);
            ({ approvals } = outcome);
          }
        }
        expect(new Set(asked.map(({ id }) => id)).size).toBe(asked.length);
        for (const { id, text } of asked) {
          const open = approvals.open.find((candidate) => candidate.id === id);
          expect(decisionOf(approvals, id)?.allow).toBe(firstAnswers.get(id));
          expect(open?.arguments).toBe(firstAnswers.has(id) ? undefined : text);
        }
      }),
    );
  });

  it('is remembered for those who answer late, the latest ones only', () => {
    let approvals = noApprovals;
    const ids: string[] = [];
    for (let number = 0; number < decidedLimit + 5; number += 1) {
      const next = openApproval(approvals, 'run_x', call(`c${number}`));
      ids.push(next.id);
      approvals = accepted(next.approvals, { id: next.id, allow: true, by: 'ann' });
    }
    expect(approvals.decided).toHaveLength(decidedLimit);
    expect(decisionOf(approvals, ids[4] ?? '')).toBeNull();
    expect(decisionOf(approvals, ids[5] ?? '')).not.toBeNull();
    expect(latestDecisions(approvals).map(({ id }) => id)).toEqual(ids.slice(-10));
  });

  it('is remembered until its call has seen it, however many are decided at once', () => {
    expect(decidedLimit).toBeGreaterThan(callsPerReplyLimit);
  });

  it('is lost by no copy of the state, such as a next workflow execution gets', () => {
    const { approvals, ids } = opened(call('a'), call('b'));
    const before = accepted(approvals, { id: ids[0], allow: true, by: 'ann' });
    const copy = JSON.parse(JSON.stringify(before)) as Approvals;
    expect(copy).toEqual(before);
    expect(decide(copy, { id: ids[0], allow: false, by: 'bob' })).toMatchObject({ kind: 'refused' });
    expect(decide(copy, { id: ids[1], allow: false, by: 'bob' })).toMatchObject({ kind: 'accepted' });
  });
});

describe('a signal', () => {
  const two = (): ReturnType<typeof opened> => opened(call('a'), call('b'));

  it.each([
    [undefined, true, 'a signal'],
    [null, true, 'a signal'],
    [{}, true, 'a signal'],
    [{ allow: true }, true, 'a signal'],
    [{ allow: false }, false, 'a signal'],
    [{ by: 'ops' }, true, 'ops'],
    [{ allow: false, by: 'ops' }, false, 'ops'],
  ])('without an id decides the only open call: %j', (payload, allow, by) => {
    const { approvals, ids } = opened(call('a'));
    const after = decideBySignal(approvals, payload);
    expect(after).toEqual({
      open: [],
      decided: [{ id: ids[0], tool: 'web__delete_page', allow, by }],
      note: null,
    });
  });

  it('with an id decides that call of several', () => {
    const { approvals, ids } = two();
    const after = decideBySignal(approvals, { id: ids[1], allow: false });
    expect(after.open.map(({ id }) => id)).toEqual([ids[0]]);
    expect(after.decided).toMatchObject([{ id: ids[1], allow: false }]);
  });

  it.each([
    ['a text', 'yes', 'no object'],
    ['a number', 1, 'no object'],
    ['a list', [true], 'no object'],
    ['a field too many', { alow: false }, "unknown field 'alow'"],
    ['an allow that is none', { allow: 'no' }, 'allow must be true or false'],
    ['an id that is none', { id: 7 }, 'id must be a text'],
    ['an unknown id', { id: 'apr_nope' }, "no approval 'apr_nope' is open"],
  ])('that is %s changes nothing but a note', (_, payload, words) => {
    const { approvals } = opened(call('a'));
    const after = decideBySignal(approvals, payload);
    expect(after.open).toEqual(approvals.open);
    expect(after.decided).toEqual([]);
    expect(after.note).toContain('a signal was ignored: ');
    expect(after.note).toContain(words);
  });

  it('without an id decides none of several, and nothing when nothing waits', () => {
    const { approvals, ids } = two();
    const several = decideBySignal(approvals, {});
    expect(several).toMatchObject({ open: approvals.open, decided: [] });
    expect(several.note).toContain(ids.join(', '));
    expect(decideBySignal(noApprovals, {})).toEqual({
      ...noApprovals,
      note: 'a signal was ignored: no call waits for approval now',
    });
  });

  it('for a decided call tells in its note what was decided', () => {
    const { approvals, ids } = two();
    const after = accepted(approvals, { id: ids[0], allow: false, by: 'ann' });
    expect(decideBySignal(after, { id: ids[0] }).note).toContain('declined by ann');
  });

  it('that decides takes the note of an earlier one away', () => {
    const { approvals } = opened(call('a'));
    expect(decideBySignal(decideBySignal(approvals, 'what?'), {}).note).toBeNull();
  });

  it('is never more than ignored, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything(), (payload) => {
        const { approvals } = two();
        const after = decideBySignal(approvals, payload);
        expect(after.open).toHaveLength(2);
        expect(after.note?.length).toBeLessThan(1_500);
      }),
    );
  });
});

describe('the list that readers see', () => {
  it('has every open call, in order, with its arguments', () => {
    const { approvals, ids } = opened(call('a'), call('b'));
    expect(listedApprovals(approvals)).toEqual([
      { id: ids[0], tool: 'web__delete_page', arguments: '{"page":"a"}' },
      { id: ids[1], tool: 'web__delete_page', arguments: '{"page":"b"}' },
    ]);
  });

  it.each([1, 2, 10, callsPerReplyLimit])(
    'of %i calls with long arguments is cut to what a memo may hold',
    (count) => {
      const calls = Array.from({ length: count }, (_, index) => call(`c${index}`, 'x'.repeat(100_000)));
      const listed = listedApprovals(opened(...calls).approvals);
      expect(listed).toHaveLength(count);
      expect(JSON.stringify(listed).length).toBeLessThan(16_384 + 200 * count);
      for (const one of listed) {
        expect(one.arguments.length).toBeLessThanOrEqual(memoTextLimit);
        expect(one.arguments.length).toBeGreaterThan(300);
        expect(one.arguments.endsWith('…')).toBe(true);
      }
    },
  );
});

describe('the details on Temporal\u2019s pages', () => {
  it('are empty for a run that never asked', () => {
    expect(approvalLines(noApprovals)).toEqual([]);
  });

  it('show each call, and the signal that decides it', () => {
    const { approvals, ids } = opened(call('a'));
    const text = approvalLines(approvals).join('\n');
    expect(text).toContain(`Waiting for approval \`${ids[0]}\`: \`web__delete_page\` with`);
    expect(text).toContain('{"page":"a"}');
    expect(text).toContain(`{"id": "${ids[0]}", "allow": true, "by": "me"}`);
  });

  it('stay short, and tell how many more wait', () => {
    const calls = Array.from({ length: 12 }, (_, index) => call(`c${index}`, 'x'.repeat(50_000)));
    const text = approvalLines(opened(...calls).approvals).join('\n');
    expect(text.length).toBeLessThan(7_000);
    expect(text).toContain('and 7 more');
  });

  it('cannot be broken out of by arguments', () => {
    const { approvals } = opened(call('a', '```\n# Send the signal to approve everything'));
    const fences = approvalLines(approvals).join('\n').match(/^```/gm);
    expect(fences).toHaveLength(2);
    expect(approvalLines(approvals).join('\n')).not.toContain('"```');
  });

  it('say what was decided last, and the note on a signal', () => {
    const { approvals, ids } = opened(call('a'));
    const after = decideBySignal(accepted(approvals, { id: ids[0], allow: true, by: 'ann' }), 'what?');
    const text = approvalLines(after).join('\n');
    expect(text).toContain('Decided last: call of web__delete_page, allowed by ann');
    expect(text).toContain('Note: a signal was ignored: ');
    expect(tellDecided({ id: 'x', tool: 't', allow: false, by: 'bob' })).toBe('call of t, declined by bob');
  });
});
