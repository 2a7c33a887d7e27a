import { describe, expect, it } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import type { RunStatus } from '../../contracts/run.ts';
import { ApprovalLooks } from '../../mcp-server/runs/approval-looks.ts';
import type { Asker } from '../../mcp-server/runs/asker.ts';
import type { RunReader } from '../../mcp-server/runs/run-reader.ts';

const asker = { caller: 'ann', seesAll: false, classCeiling: null } as unknown as Asker;
const handle = (number: number): Handle => `run_${number}` as Handle;

/** Runs whose status the test changes, and the looks at them; `onLook` is told of each before it is answered. */
function runsOf(statuses: readonly (RunStatus | 'gone')[]) {
  const current = [...statuses];
  const pending = new Map<number, string[]>();
  const looks: number[] = [];
  let onLook = (_look: number): void => undefined;
  const find = (async (run: Handle) => {
    const index = Number(run.slice(4));
    looks.push(index);
    onLook(looks.length);
    const status = current[index];
    if (status === 'gone') throw new Error('Temporal does not answer');
    if (status === undefined) return null;
    const pendingApprovals = (pending.get(index) ?? []).map((id) => ({ id }));
    return { view: { handle: run, status, pendingApprovals }, memo: {} };
  }) as unknown as RunReader['find'];
  return {
    looks,
    reader: { find },
    open: new Set(statuses.map((_, index) => handle(index))),
    set: (index: number, status: RunStatus | 'gone') => (current[index] = status),
    ask: (index: number, ...ids: string[]) => pending.set(index, ids),
    onLook: (listener: (look: number) => void) => (onLook = listener),
  };
}

describe('waiting for runs of which some wait for approval', () => {
  it('ends when the last that was at work waits too, and looks at one run at a time until then', async () => {
    const runs = runsOf(['AwaitingApproval', 'Running', 'AwaitingApproval']);
    runs.onLook((look) => {
      if (look === 8) runs.set(1, 'AwaitingApproval');
    });
    const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
    await looks.untilAllWait(runs.open, { asker, known: false }, new AbortController().signal);
    // It finds run 1 at work, comes back to it alone, and looks at the others when it is not.
    expect(runs.looks).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 0, 2]);
  });

  it.each(['Running', 'Completed', 'gone'] as const)(
    'goes on as long as one of them is %s',
    async (status) => {
      const runs = runsOf(['AwaitingApproval', status]);
      const stop = new AbortController();
      runs.onLook((look) => {
        if (look === 50) stop.abort(new Error('enough'));
      });
      const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
      await expect(looks.untilAllWait(runs.open, { asker, known: false }, stop.signal)).rejects.toThrow(
        /abort/i,
      );
      expect(runs.looks.length).toBeGreaterThanOrEqual(50);
    },
  );

  it('notices nothing when none is left', async () => {
    const stop = new AbortController();
    const looks = new ApprovalLooks(runsOf([]).reader, { everyMs: 1 });
    const waiting = looks.untilAllWait(new Set(), { asker, known: false }, stop.signal);
    setTimeout(() => stop.abort(), 20);
    await expect(waiting).rejects.toThrow(/abort/i);
  });

  it('is patient when all of them waited from the start, and no longer once one was at work', async () => {
    const patient = runsOf(['AwaitingApproval']);
    const startedMs = performance.now();
    const looks = new ApprovalLooks(patient.reader, { everyMs: 1, patienceMs: 200 });
    await looks.untilAllWait(patient.open, { asker, known: true }, new AbortController().signal);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(200);
    expect(patient.looks.length).toBeGreaterThan(2);

    const moved = runsOf(['AwaitingApproval']);
    moved.onLook((look) => {
      moved.set(0, look === 3 ? 'Running' : 'AwaitingApproval');
    });
    const endless = new ApprovalLooks(moved.reader, { everyMs: 1, patienceMs: 600_000 });
    await endless.untilAllWait(moved.open, { asker, known: true }, new AbortController().signal);
    expect(moved.looks).toHaveLength(4);
  });
});

describe('waiting for the next call to ask about', () => {
  const signal = new AbortController().signal;

  it('ends with a new one in any of the runs, each of which is looked at in turn, ten in a round', async () => {
    const runs = runsOf(Array.from({ length: 25 }, () => 'Running' as const));
    runs.ask(3, 'known');
    runs.onLook((look) => {
      if (look === 60) runs.ask(17, 'known', 'new');
    });
    const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
    await looks.untilOpened(runs.open, { asker, except: new Set(['known']) }, signal);
    const once = Array.from({ length: 25 }, (_, index) => index);
    expect(runs.looks.slice(0, 50)).toEqual([...once, ...once]);
    // The third time around it has come to run 17 after the sixtieth look.
    expect(runs.looks.at(-1)).toBeGreaterThanOrEqual(17);
    expect(runs.looks.length).toBeLessThanOrEqual(75);
  });

  it('ends when all wait for what is known already, and not before', async () => {
    const runs = runsOf(['AwaitingApproval', 'gone', 'Running']);
    runs.ask(0, 'known');
    runs.onLook((look) => {
      if (look === 9) runs.set(1, 'AwaitingApproval');
      if (look === 20) runs.set(2, 'AwaitingApproval');
    });
    const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
    await looks.untilOpened(runs.open, { asker, except: new Set(['known']) }, signal);
    expect(runs.looks.length).toBeGreaterThanOrEqual(20);
    expect(runs.looks.length).toBeLessThanOrEqual(24);
  });

  it('does not count a run that has ended meanwhile', async () => {
    const runs = runsOf(['AwaitingApproval', 'Running']);
    runs.onLook((look) => {
      if (look === 6) runs.open.delete(handle(1));
    });
    const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
    await looks.untilOpened(runs.open, { asker, except: new Set() }, signal);
    expect(runs.looks.length).toBeLessThanOrEqual(8);
  });

  it('makes fifty looks a second at most, however many wait', async () => {
    const statuses = Array.from({ length: 10 }, () => 'Running' as const);
    const runs = runsOf(statuses);
    const stop = new AbortController();
    const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
    const startedMs = performance.now();
    const waits = Array.from({ length: 6 }, async () => {
      await looks.untilOpened(runs.open, { asker, except: new Set() }, stop.signal);
    });
    runs.onLook((look) => {
      if (look === 60) stop.abort(new Error('enough'));
    });
    await Promise.allSettled(waits);
    // Six waits of ten looks: a round of each in 1.2 seconds, but the first has begun when it was alone.
    expect(performance.now() - startedMs).toBeGreaterThan(900);
  });
});

describe('waiting for one decision', () => {
  it('ends when the approval is not open any more, and not while the run cannot be read', async () => {
    const runs = runsOf(['AwaitingApproval']);
    runs.ask(0, 'this', 'other');
    runs.onLook((look) => {
      if (look === 3) runs.set(0, 'gone');
      if (look === 6) {
        runs.set(0, 'AwaitingApproval');
        runs.ask(0, 'other');
      }
    });
    const looks = new ApprovalLooks(runs.reader, { everyMs: 1 });
    const { signal } = new AbortController();
    await looks.untilDecided({ handle: handle(0), approvalId: 'this' }, asker, signal);
    expect(runs.looks).toHaveLength(6);
  });
});
