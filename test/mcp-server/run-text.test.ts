import { describe, expect, it } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import { zeroCounters } from '../../contracts/run.ts';
import { jsonBytes } from '../../mcp-server/runs/fair-cut.ts';
import {
  tellApprove,
  tellAwait,
  tellCancel,
  tellList,
  tellSpawn,
  tellStatus,
  withNotes,
} from '../../mcp-server/mcp/run-text.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';

const first = 'run_0123456789abcdefghij01' as Handle;
const second = 'run_0123456789abcdefghij02' as Handle;

function run(over: Partial<RunView> = {}): RunView {
  return {
    handle: first,
    status: 'Completed',
    phase: 'ended',
    summary: 'read it',
    model: 'm',
    class: 'interactive',
    caller: 'ann',
    root: first,
    parent: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:01.000Z',
    result: 'forty-two',
    cutAtMaxTokens: false,
    reason: null,
    partial: null,
    pendingApprovals: [],
    decidedApprovals: [],
    budget: null,
    counters: {
      ...zeroCounters,
      turns: 2,
      toolCalls: 3,
      failedToolCalls: 1,
      promptTokens: 30,
      completionTokens: 12,
      cachedTokens: 7,
    },
    ...over,
  };
}

const alone = (one: RunView) => ({
  children: [],
  subtree: { runs: 1, atWork: 0, counters: one.counters },
});

const running = run({
  handle: second,
  status: 'Running',
  phase: 'model turn 3',
  result: null,
  endedAt: null,
});
const overBudget = run({
  status: 'Cancelled',
  result: null,
  reason: 'budget exceeded: tokens 1234/1000',
  budget: {
    limits: { tokens: 1_000, seconds: 60 },
    used: { tokens: 1_234, toolCalls: 3, seconds: 7 },
    exceeded: 'tokens',
    isShared: false,
  },
});
const cancelled = run({ status: 'Cancelled', result: null, reason: 'not needed', partial: 'half a' });

describe('a run that its budget has ended', () => {
  it('is told with the reason, the budget and its work so far as partial', () => {
    const { text, structured } = tellAwait({ done: true, runs: [overBudget] });
    expect(text.split('\n')).toEqual([
      `${first}: Cancelled, 2 turns, 3 tool calls (1 failed), 42 tokens until then`,
      'budget: 1234 of 1000 tokens, 7 of 60 seconds used; exceeded: tokens',
      'reason: budget exceeded: tokens 1234/1000',
    ]);
    expect(structured['runs']).toMatchObject([
      { isPartial: true, budget: { limits: { tokens: 1_000 }, exceeded: 'tokens' } },
    ]);
    expect(tellStatus({ run: overBudget, family: alone(overBudget) }).text).toContain('1234 of 1000 tokens');
    expect(JSON.stringify(tellAwait({ done: true, runs: [run()] }).structured)).not.toMatch(
      /budget|isPartial/,
    );
  });
});

describe('what is told of runs that wait for approval', () => {
  const approval = { id: 'apr_1', tool: 'web__delete_page', arguments: '{"page":"home"}' };
  const phase = 'waiting for approval: web__delete_page';
  const waiting = run({
    status: 'AwaitingApproval',
    phase,
    result: null,
    endedAt: null,
    pendingApprovals: [approval],
  });
  const todo = 'call approve with handle, approvalId and allow, then await again.';

  it('is the call, its arguments and what to do, when nothing else goes on', () => {
    const { text, structured } = tellAwait({ done: false, runs: [waiting, run({ handle: second })] });
    const hint = `1 tool call of ${first} waits for approval: show it to the user and ${todo} Nothing goes on until then.`;
    expect(text.split('\n\n').slice(0, 2)).toEqual([
      hint,
      `${first}: AwaitingApproval (${phase}), 2 turns, 3 tool calls (1 failed), 42 tokens\nwaits for approval apr_1: web__delete_page {"page":"home"}`,
    ]);
    expect(structured).toMatchObject({
      done: false,
      hint,
      runs: [{ pendingApproval: approval, pendingApprovals: [approval] }, { status: 'Completed' }],
    });
    expect(JSON.stringify((structured['runs'] as unknown[])[1])).not.toContain('pendingApproval');
  });

  it.each([
    [false, 'Time is up with 2 runs still at work.'],
    [true, '2 runs still at work;'],
  ])('comes after what else there is to say (done: %s)', (done, begin) => {
    const { text } = tellAwait({ done, runs: [waiting, running, ...(done ? [run()] : [])] });
    expect(text.startsWith(begin)).toBe(true);
    expect(text).toContain(`1 tool call of ${first} waits for approval: show it to the user and ${todo}`);
    expect(text).not.toContain('Nothing goes on');
  });

  it('counts the calls of several runs', () => {
    const other = { ...waiting, handle: second, pendingApprovals: [approval, { ...approval, id: 'apr_2' }] };
    const { text } = tellAwait({ done: false, runs: [waiting, other] });
    expect(text).toContain('3 tool calls of 2 runs wait for approval: show them to the user');
  });

  it('is in status too', () => {
    const { text, structured } = tellStatus({ run: waiting, family: alone(waiting) });
    expect(text).toContain('waits for approval apr_1: web__delete_page {"page":"home"}');
    expect(text.endsWith(todo)).toBe(true);
    expect(structured).toMatchObject({ pendingApproval: approval, hint: expect.stringContaining(todo) });
  });

  it('stays within an answer, however many runs wait with however long arguments', () => {
    const long = { ...approval, arguments: `{"text":"${'x'.repeat(4_000)}"}` };
    const runs = Array.from({ length: 100 }, () => ({
      ...waiting,
      summary: 's'.repeat(200),
      pendingApprovals: Array.from({ length: 50 }, () => long),
    }));
    const { text, structured } = tellAwait({ done: false, runs });
    expect(jsonBytes(text)).toBeLessThan(60_000);
    expect(JSON.stringify(structured).length).toBeLessThan(120_000);
    expect(text).toContain('5000 tool calls of 100 runs wait for approval');
  });
});

describe('what approve tells', () => {
  const decided = { id: 'apr_1', tool: 'web__delete_page', allow: true, by: 'ann' };
  const outcome = { handle: first, accepted: true, decided, status: 'AwaitingApproval' } as const;

  it('says what happens now', () => {
    expect(tellApprove(outcome)).toEqual({
      text: `${first}: allowed: web__delete_page is called now, once, with exactly the arguments of apr_1. await returns its answer.`,
      structured: {
        handle: first,
        approvalId: 'apr_1',
        outcome: 'accepted',
        tool: 'web__delete_page',
        allow: true,
        by: 'ann',
      },
    });
    expect(tellApprove({ ...outcome, decided: { ...decided, allow: false } }).text).toContain(
      'declined: web__delete_page is not called, and the sub-agent is told so',
    );
  });

  it.each([
    [true, 'allowed'],
    [false, 'declined'],
  ])('says how and by whom it was decided before (allow: %s)', (allow, word) => {
    const told = tellApprove({
      ...outcome,
      accepted: false,
      decided: { ...decided, allow },
      status: 'Completed',
    });
    expect(told.text).toBe(
      `${first}: approval apr_1 was already decided: the call of web__delete_page was ${word} by ann. Your answer changed nothing.`,
    );
    expect(told.structured).toMatchObject({
      outcome: 'already decided',
      allow,
      by: 'ann',
      status: 'Completed',
    });
  });
});

describe('what await tells', () => {
  it('gives the answer of a completed run with its counts', () => {
    const { text, structured } = tellAwait({ done: true, runs: [run()] });
    expect(text).toBe(`${first}: Completed, 2 turns, 3 tool calls (1 failed), 42 tokens\nforty-two`);
    expect(structured).toEqual({
      done: true,
      runs: [
        {
          handle: first,
          status: 'Completed',
          phase: 'ended',
          task: 'read it',
          result: 'forty-two',
          toolCalls: 3,
          failedToolCalls: 1,
          usage: { turns: 2, promptTokens: 30, completionTokens: 12, cachedTokens: 7 },
        },
      ],
    });
  });

  it('labels the text of a run that did not complete as partial, beside the reason', () => {
    const { text, structured } = tellAwait({ done: true, runs: [cancelled] });
    expect(text).toContain('Cancelled');
    expect(text).toContain('reason: not needed\npartial text (the run did not complete):\nhalf a');
    expect(structured['runs']).toMatchObject([
      { status: 'Cancelled', reason: 'not needed', partial: 'half a' },
    ]);
    expect(JSON.stringify(structured)).not.toContain('"result"');
  });

  it('says what to do when time is up', () => {
    const { text, structured } = tellAwait({ done: false, runs: [run(), running] });
    expect(structured).toMatchObject({ done: false });
    expect(structured['hint']).toContain('1 run still at work');
    expect(structured['hint']).toContain('await again with the same handles');
    expect(text.startsWith(String(structured['hint']))).toBe(true);
    expect(text).toContain('Running (model turn 3)');
  });

  it('says that others go on when one of several has ended', () => {
    const { structured } = tellAwait({ done: true, runs: [run(), running] });
    expect(structured['hint']).toContain('1 run still at work');
  });

  it('says when the model was cut off, and when there was nothing', () => {
    expect(tellAwait({ done: true, runs: [run({ cutAtMaxTokens: true })] }).text).toContain(
      'cut off at maxTokens',
    );
    expect(tellAwait({ done: true, runs: [run({ result: '' })] }).text).toContain('[empty answer]');
  });

  it('keeps many long answers within one answer, each with its share and a note', () => {
    const runs = Array.from({ length: 100 }, (_, index) =>
      run({
        handle: `run_0123456789abcdefghi${100 + index}` as Handle,
        result: `${index}:`.padEnd(50_000, '"\n'),
      }),
    );
    const { text, structured } = tellAwait({ done: true, runs });
    expect(jsonBytes(text)).toBeLessThan(80_000);
    expect(Buffer.byteLength(JSON.stringify(structured))).toBeLessThan(80_000);
    runs.forEach((_, index) => expect(text).toContain(`\n${index}:`));
    expect(text.match(/characters left out here/g)).toHaveLength(100);
  });

  it('cuts one very long answer to about twenty thousand tokens', () => {
    const { text, structured } = tellAwait({ done: true, runs: [run({ result: 'x'.repeat(2_000_000) })] });
    expect(jsonBytes(text)).toBeGreaterThan(50_000);
    expect(jsonBytes(text)).toBeLessThan(62_000);
    expect(Buffer.byteLength(JSON.stringify(structured))).toBeLessThan(62_000);
  });
});

describe('an answer with the longest of everything', () => {
  const most = 90_000;
  const sizeOf = (structured: object): number => Buffer.byteLength(JSON.stringify(structured));
  const worst = (index: number): RunView =>
    run({
      handle: `run_0123456789abcdefghi${100 + index}` as Handle,
      status: 'Failed',
      summary: '\u{1f30a}'.repeat(200),
      result: null,
      reason: `${index}:`.padEnd(4_096, '"'),
      partial: `${index}:`.padEnd(4_096, 'p'),
    });

  it.each([1, 20, 100])('is one of bounded size for %i runs that failed', (count) => {
    const runs = Array.from({ length: count }, (_, index) => worst(index));
    const { text, structured } = tellAwait({ done: true, runs });
    expect(jsonBytes(text)).toBeLessThan(most);
    expect(sizeOf(structured)).toBeLessThan(most);
    runs.forEach((_, index) => expect(text).toContain(`reason: ${index}:`));
  });

  it('is one of bounded size in status, for a run with very many children and for a list', () => {
    const runs = Array.from({ length: 500 }, (_, index) => worst(index));
    const family = { children: runs, subtree: { runs: 501, atWork: 0, counters: zeroCounters } };
    for (const { text, structured } of [
      tellStatus({ run: worst(1), family }),
      tellList({ runs: runs.slice(0, 50), more: true }),
    ]) {
      expect(jsonBytes(text)).toBeLessThan(most);
      expect(sizeOf(structured)).toBeLessThan(most);
    }
  });
});

describe('what the other tools tell', () => {
  it('spawn: the handle and what to do with it', () => {
    const { text, structured } = tellSpawn({
      handle: first,
      existing: false,
      status: 'Running',
      notes: ['odd'],
    });
    expect(structured).toEqual({ handle: first, status: 'Running', notes: ['odd'] });
    expect(text).toContain(first);
    expect(text).toContain('await');
    expect(text).toContain('note: odd');
  });

  it('spawn: marks a run that was there before, with how it stands', () => {
    const { text, structured } = tellSpawn({ handle: first, existing: true, status: 'Failed', notes: [] });
    expect(structured).toEqual({ handle: first, status: 'Failed', existing: true });
    expect(text).toContain('started this run before; it is Failed');
  });

  it('status: everything of a run but its answer', () => {
    const { text, structured } = tellStatus({ run: run(), family: alone(run()) });
    expect(structured).toMatchObject({
      handle: first,
      model: 'm',
      class: 'interactive',
      root: first,
      parent: null,
    });
    expect(text + JSON.stringify(structured)).not.toContain('forty-two');
    expect(tellStatus({ run: cancelled, family: alone(cancelled) }).text).toContain('half a');
    expect(structured).toMatchObject({ children: [], subtree: { runs: 1, turns: 2 } });
    expect(text).not.toContain('children');
  });

  it('status: the children, the run above, and the totals of all below, many of them counted only', () => {
    const top = run({ root: second, parent: second });
    const children = Array.from({ length: 130 }, (_, index) =>
      run({
        handle: `run_${String(index).padStart(22, '0')}` as Handle,
        parent: first,
        summary: `part ${index}`,
      }),
    );
    const subtree = { runs: 140, atWork: 3, counters: { ...zeroCounters, turns: 777, heldMs: 5 } };
    const { text, structured } = tellStatus({ run: top, family: { children, subtree } });
    expect(text).toContain(`parent: ${second}`);
    expect(text).toContain('140 runs, 3 at work, 777 turns');
    expect(text).toContain('part 99');
    expect(text).not.toContain('part 100');
    expect(text).toContain('and 30 more');
    expect(structured).toMatchObject({
      moreChildren: 30,
      subtree: { runs: 140, atWork: 3, turns: 777, heldMs: 5 },
    });
    expect(structured['children']).toHaveLength(100);
  });

  it('status: the list of runs, or that there is none', () => {
    const { text, structured } = tellList({ runs: [running, run()], more: true });
    expect(text).toContain(second);
    expect(text).toContain('older runs are left out');
    expect(structured).toMatchObject({ more: true, runs: [{ handle: second }, { handle: first }] });
    expect(tellList({ runs: [], more: false }).text).toContain('no runs yet');
  });

  it('cancel: how many runs it reached, and that a run had ended already', () => {
    expect(tellCancel({ handle: first, reached: 1, status: 'Running', later: false }).text).toContain(
      '1 run reached',
    );
    const later = tellCancel({ handle: first, reached: 1, status: 'Running', later: true });
    expect(later.text).toContain('No worker answers now');
    expect(later.structured).toMatchObject({ reached: 1, later: true });
    const late = tellCancel({ handle: first, reached: 0, status: 'Completed', later: false });
    expect(late.text).toContain('had ended already (Completed)');
    expect(late.structured).toEqual({ handle: first, reached: 0, status: 'Completed' });
  });

  it('adds notes to any answer', () => {
    expect(withNotes({ text: 'a', structured: { b: 1 } }, ['c'])).toEqual({
      text: 'a\nnote: c',
      structured: { b: 1, notes: ['c'] },
    });
  });
});
