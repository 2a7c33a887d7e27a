import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zeroCounters, type RunStatus } from '../../contracts/run.ts';
import { RunChanges, type RunChange } from '../../mcp-server/runs/run-changes.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';
import { madeRun } from './made-run.ts';

const startMs = 1_000_000;

function told(changes: readonly RunChange[]): string[] {
  return changes.map(({ kind, change, run }) => `${kind} ${change} ${run.handle.replace(/^run_0+/, '')}`);
}

/** Looks one second after the other; what each told. */
function looks(...views: readonly (readonly RunView[])[]): string[][] {
  const changes = new RunChanges(startMs);
  return views.map((some, index) => told(changes.take(some, startMs + index * 1_000, startMs - 30_000)));
}

function ended(name: string, status: RunStatus = 'Completed', over: Partial<RunView> = {}): RunView {
  return madeRun(name, { status, phase: 'ended', endedAt: new Date(startMs + 500).toISOString(), ...over });
}

describe('what has changed from one look to the next', () => {
  it('is nothing at the first look, whatever is there', () => {
    const waiting = madeRun('b', {
      status: 'AwaitingApproval',
      pendingApprovals: [{ id: 'apr_1', tool: 't', arguments: '{}' }],
    });
    expect(looks([madeRun('a'), waiting, ended('c')])).toEqual([[]]);
  });

  it('is a run that has started, once, the older one first', () => {
    expect(looks([], [madeRun('b'), madeRun('a')], [madeRun('b'), madeRun('a')])).toEqual([
      [],
      ['run started a', 'run started b'],
      [],
    ]);
  });

  it('is status before phase before counters, one of them a look', () => {
    const next = { phase: 'model turn 2', counters: { ...zeroCounters, turns: 1 } };
    expect(
      looks(
        [madeRun('a')],
        [madeRun('a', { counters: { ...zeroCounters, promptTokens: 5 } })],
        [madeRun('a', next)],
        [madeRun('a', { ...next, phase: 'waiting', status: 'AwaitingApproval' })],
        [ended('a')],
      ),
    ).toEqual([[], ['run progress a'], ['run phase a'], ['run status a'], ['run ended a']]);
  });

  it('is start and end of a run that came and went between two looks', () => {
    expect(looks([], [ended('a', 'Failed')])).toEqual([[], ['run started a', 'run ended a']]);
  });

  it('is only the end of a run that had started long before and was not looked at', () => {
    const old = { startedAt: new Date(startMs - 3_600_000).toISOString() };
    expect(looks([], [ended('a', 'Cancelled', old)])).toEqual([[], ['run ended a']]);
  });

  it('is told of an end once, also when a later look shows the run at work again', () => {
    expect(looks([madeRun('a')], [ended('a')], [madeRun('a')], [ended('a')])).toEqual([
      [],
      ['run ended a'],
      [],
      [],
    ]);
  });

  it('is an approval that was opened, and its decision', () => {
    const open = { id: 'apr_1', tool: 'delete', arguments: '{}' };
    const waits = madeRun('a', { status: 'AwaitingApproval', pendingApprovals: [open] });
    const decided = madeRun('a', {
      decidedApprovals: [{ id: 'apr_1', tool: 'delete', allow: true, by: 'ann' }],
    });
    expect(looks([madeRun('a')], [waits], [waits], [decided], [decided])).toEqual([
      [],
      ['run status a', 'approval opened a'],
      [],
      ['approval decided a', 'run status a'],
      [],
    ]);
  });

  it('is not an end when a run is missing from a look: a list may lag, or have no room', () => {
    expect(looks([madeRun('a')], [], [madeRun('a', { phase: 'model turn 2' })])).toEqual([
      [],
      [],
      ['run phase a'],
    ]);
  });

  it('forgets ends that no look shows any more, and runs that no look has shown for ten minutes', () => {
    const changes = new RunChanges(startMs);
    changes.take([madeRun('a'), ended('b')], startMs, startMs - 30_000);
    changes.take([], startMs + 300_000, startMs + 270_000);
    expect(changes.size).toBe(1);
    changes.take([], startMs + 601_000, startMs + 571_000);
    expect(changes.size).toBe(0);
  });

  it('is bounded, however many runs there are', () => {
    const changes = new RunChanges(startMs);
    const many = Array.from({ length: 10_500 }, (_, index) => madeRun(`n${index}`));
    changes.take(many, startMs, startMs - 30_000);
    expect(changes.size).toBe(10_000);
  });

  it('tells each run\u2019s start at most once, nothing before it and nothing after its end', () => {
    const status = fc.constantFrom<RunStatus>('Running', 'AwaitingApproval', 'Completed', 'Failed');
    const view = fc.record({ name: fc.constantFrom('a', 'b', 'c'), status, turn: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(fc.uniqueArray(view, { selector: ({ name }) => name })), (rounds) => {
        const all = looks(
          [],
          ...rounds.map((round) =>
            round.map(({ name, status: now, turn }) =>
              now === 'Completed' || now === 'Failed'
                ? ended(name, now)
                : madeRun(name, { status: now, phase: `model turn ${turn}` }),
            ),
          ),
        ).flat();
        for (const name of ['a', 'b', 'c']) {
          const own = all.filter((line) => line.endsWith(` ${name}`));
          expect(own.indexOf(`run started ${name}`)).toBeLessThanOrEqual(0);
          expect(own.lastIndexOf(`run started ${name}`)).toBeLessThanOrEqual(0);
          const end = own.indexOf(`run ended ${name}`);
          expect(end === -1 || end === own.length - 1).toBe(true);
        }
      }),
    );
  });
});
