import { describe, expect, it } from 'vitest';
import { openGrant } from '../../auth/grant.ts';
import type { Caller, Handle } from '../../contracts/ids.ts';
import { isFinal, type RunStatus } from '../../contracts/run.ts';
import { zeroCounters } from '../../contracts/run-names.ts';
import type { ClientAsking } from '../../mcp-server/mcp/ask-client.ts';
import {
  awaitAsking,
  newStanding,
  takeAnswers,
  type AskingDeps,
  type AskingWait,
} from '../../mcp-server/mcp/await-asking.ts';
import { askerOf } from '../../mcp-server/runs/asker.ts';
import type { AwaitOutcome } from '../../mcp-server/runs/await-runs.ts';
import type { AwaitQuery, RunService } from '../../mcp-server/runs/run-service.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';
import { UserFault } from '../../mcp-server/runs/user-fault.ts';

const asker = askerOf('ann' as Caller, openGrant);
const handleOf = (name: string): Handle => `run_${name.padEnd(22, '0')}` as Handle;

function runOf(name: string, status: RunStatus, pending: readonly string[] = []): RunView {
  const handle = handleOf(name);
  return {
    handle,
    status,
    phase: '',
    summary: `task of ${name}`,
    model: null,
    class: null,
    caller: 'ann',
    root: handle,
    parent: null,
    startedAt: '',
    endedAt: null,
    result: null,
    cutAtMaxTokens: false,
    reason: null,
    partial: null,
    counters: zeroCounters,
    pendingApprovals: pending.map((id) => ({ id, tool: `tool_${id}`, arguments: '{}' })),
    decidedApprovals: [],
    budget: null,
  };
}

function outcomeOf(...runs: RunView[]): AwaitOutcome {
  return { done: runs.every((run) => isFinal(run.status)), runs };
}

/** How the run service answers one wait: at once, or never until it is stopped. */
type Step = AwaitOutcome | 'hangs';

/** A service that answers its waits in this order, and remembers what it was asked and told. */
function serviceOf(...steps: Step[]) {
  const queries: AwaitQuery[] = [];
  const decisions: string[] = [];
  let refusal: UserFault | null = null;
  let accepted = true;
  const service: AskingDeps['service'] = {
    async await(query, signal) {
      // A set of the standing goes on changing.
      const stopAt = query.stopAt;
      const kept = stopAt?.kind === 'opened' ? { ...stopAt, except: new Set(stopAt.except) } : stopAt;
      queries.push({ ...query, stopAt: kept });
      const step = steps.shift();
      if (step === undefined) throw new Error('one wait too many');
      if (step !== 'hangs') return await Promise.resolve(step);
      return await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    approve: (async (handle: string, allow: boolean, id: string) => {
      if (refusal !== null) throw refusal;
      decisions.push(`${id} ${allow ? 'allowed' : 'declined'}`);
      const decided = {
        id,
        tool: `tool_${id}`,
        allow: accepted ? allow : !allow,
        by: accepted ? 'ann' : 'bob',
      };
      return await Promise.resolve({ handle, accepted, decided, status: 'Running' });
    }) as unknown as RunService['approve'],
  };
  return {
    service,
    queries,
    decisions,
    steps,
    refuse: (fault: UserFault) => (refusal = fault),
    decideBefore: () => (accepted = false),
  };
}

/** A client that shows forms on the stream; `answers` is what it says, in order. */
function streamOf(...answers: unknown[]) {
  const shown: string[] = [];
  const taken: string[] = [];
  const asking: ClientAsking = {
    kind: 'on the stream',
    async ask({ message }, signal) {
      shown.push(message.split('\n')[0] ?? '');
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      if (answer !== 'never') return await Promise.resolve(answer);
      return await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          taken.push(message.split('\n')[0] ?? '');
          reject(new Error('taken back'));
        });
      });
    },
  };
  return { asking, shown, taken };
}

function waitOf(asking: ClientAsking | null, over: Partial<AskingWait> = {}): AskingWait {
  const { signal } = new AbortController();
  return { handles: [handleOf('a')], mode: 'all', asker, signal, asking, ...over };
}

const yes = { action: 'accept', content: { allow: true } };
const no = { action: 'decline' };
const ended = outcomeOf(runOf('a', 'Completed'));
const waits = (...ids: string[]): AwaitOutcome => outcomeOf(runOf('a', 'AwaitingApproval', ids));

describe('waiting with a client that can be asked on the stream', () => {
  it('asks about one call after the other, decides each, and goes on waiting', async () => {
    const { service, decisions, queries } = serviceOf(waits('1', '2'), 'hangs', waits('2'), 'hangs', ended);
    const { asking, shown } = streamOf(yes, no);
    const standing = newStanding(45_000);
    const result = await awaitAsking({ service }, waitOf(asking), standing);
    expect(result).toEqual({ kind: 'over', outcome: ended });
    expect(shown).toEqual(['A sub-agent wants to call tool_1 with', 'A sub-agent wants to call tool_2 with']);
    expect(decisions).toEqual(['1 allowed', '2 declined']);
    expect(standing.notes).toEqual([
      `the user allowed tool_1 of ${handleOf('a')}`,
      `the user declined tool_2 of ${handleOf('a')}`,
    ]);
    expect(queries.map(({ stopAt }) => stopAt)).toEqual([
      { kind: 'opened', except: new Set() },
      { kind: 'decided', handle: handleOf('a'), approvalId: '1' },
      { kind: 'opened', except: new Set(['1']) },
      { kind: 'decided', handle: handleOf('a'), approvalId: '2' },
      { kind: 'opened', except: new Set(['1', '2']) },
    ]);
  });

  it('does not ask when the runs have ended, time is up, or all it was asked about still waits', async () => {
    const { asking, shown } = streamOf();
    const anyDone = { done: true, runs: [runOf('a', 'Completed'), runOf('b', 'AwaitingApproval', ['1'])] };
    for (const [step, timeoutMs, asked] of [
      [ended, 45_000, []],
      [anyDone, 45_000, []],
      [waits('1'), 0, []],
      [waits('1'), 45_000, ['1']],
    ] as const) {
      const standing = newStanding(timeoutMs);
      for (const id of asked) standing.asked.add(id);
      const { service } = serviceOf(step);
      expect(await awaitAsking({ service }, waitOf(asking), standing)).toEqual({
        kind: 'over',
        outcome: step,
      });
    }
    expect(shown).toEqual([]);
  });

  it('takes the form back when somebody else decides, says so, and goes on', async () => {
    const decidedApprovals = [{ id: '1', tool: 'tool_1', allow: false, by: 'bob' }];
    const decided = outcomeOf({ ...runOf('a', 'Running'), decidedApprovals });
    const { service, decisions } = serviceOf(waits('1'), decided, ended);
    const { asking, taken } = streamOf('never');
    const standing = newStanding(45_000);
    expect(await awaitAsking({ service }, waitOf(asking), standing)).toMatchObject({
      kind: 'over',
      outcome: ended,
    });
    expect(taken).toHaveLength(1);
    expect(decisions).toEqual([]);
    expect(standing.notes).toEqual([
      `tool_1 of ${handleOf('a')}: declined by bob, while the user was being asked`,
    ]);
  });

  it('takes the form back when what was waited for has happened, and returns', async () => {
    const done = { done: true, runs: [runOf('a', 'AwaitingApproval', ['1']), runOf('b', 'Completed')] };
    const { service, decisions } = serviceOf(waits('1'), done);
    const { asking, taken } = streamOf('never');
    const result = await awaitAsking({ service }, waitOf(asking, { mode: 'any' }), newStanding(45_000));
    expect(result).toEqual({ kind: 'over', outcome: done });
    expect([taken.length, decisions.length]).toEqual([1, 0]);
  });

  it('takes the form back when the call is over for its client, and decides nothing', async () => {
    const { service, decisions } = serviceOf(waits('1'), 'hangs');
    const { asking, shown, taken } = streamOf('never');
    const gone = new AbortController();
    const waiting = awaitAsking({ service }, waitOf(asking, { signal: gone.signal }), newStanding(45_000));
    await expect.poll(() => shown.length).toBe(1);
    gone.abort(new Error('the client has gone'));
    await expect(waiting).rejects.toThrow('the client has gone');
    expect([taken.length, decisions.length]).toEqual([1, 0]);
  });

  it.each([
    ['an error', new Error('no screen'), 'the client says: no screen'],
    ['no answer to a form', { action: 'later' }, 'the client sent no answer to a form'],
    ['a text', 'yes', 'the client sent no answer to a form'],
  ])('with %s decides nothing and is asked no more in this call', async (_, answer, reason) => {
    const atWork = outcomeOf(runOf('a', 'AwaitingApproval', ['1', '2']), runOf('b', 'Running'));
    const { service, decisions, queries } = serviceOf(atWork, 'hangs', waits('1', '2'));
    const { asking, shown } = streamOf(answer);
    const standing = newStanding(45_000);
    expect(await awaitAsking({ service }, waitOf(asking), standing)).toMatchObject({
      outcome: waits('1', '2'),
    });
    expect([shown.length, decisions.length]).toEqual([1, 0]);
    expect(standing.notes).toEqual([`the user was not asked about tool_1 of ${handleOf('a')}: ${reason}`]);
    // Like a client that never could be asked, but without being patient.
    expect(queries.at(-1)?.stopAt).toEqual({ kind: 'all wait', patient: false });
  });

  it('treats silence like an error, after the time that a person has', async () => {
    const { service, queries } = serviceOf(waits('1'), waits('1'), waits('1'));
    const { asking, taken } = streamOf('never');
    const standing = newStanding(45_000);
    await awaitAsking({ service, answerMs: 5_000 }, waitOf(asking), standing);
    expect(queries[1]).toMatchObject({ timeoutMs: 5_000 });
    expect(taken).toHaveLength(1);
    expect(standing.notes[0]).toContain('no answer within 5 s');
  });

  it('tells of an answer that came too late, and of one that was not taken', async () => {
    const late = serviceOf(waits('1'), 'hangs', ended);
    late.decideBefore();
    const standing = newStanding(45_000);
    await awaitAsking({ service: late.service }, waitOf(streamOf(yes).asking), standing);
    expect(standing.notes).toEqual([
      `the user allowed tool_1 of ${handleOf('a')}, but it was declined by bob before; that counts`,
    ]);

    const refused = serviceOf(waits('1'), 'hangs', waits('1'));
    refused.refuse(new UserFault('busy', 'no worker answered'));
    const { asking, shown } = streamOf(yes);
    const other = newStanding(45_000);
    await awaitAsking({ service: refused.service }, waitOf(asking), other);
    expect(shown).toHaveLength(1);
    expect(other.notes).toEqual([
      `the user's answer about tool_1 of ${handleOf('a')} was not taken: no worker answered`,
    ]);
  });

  it('passes on what the run service finds wrong', async () => {
    const { asking } = streamOf('never');
    const broken = serviceOf(waits('1'));
    await expect(
      awaitAsking({ service: broken.service }, waitOf(asking), newStanding(1_000)),
    ).rejects.toThrow('one wait too many');
  });

  it('names twenty decisions and counts on after them', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `${index}`);
    const steps = ids.flatMap((id): Step[] => [waits(id), 'hangs']);
    const { service, decisions } = serviceOf(...steps, ended);
    const standing = newStanding(45_000);
    await awaitAsking({ service }, waitOf(streamOf(...ids.map(() => yes)).asking), standing);
    expect(decisions).toHaveLength(30);
    expect(standing.notes).toHaveLength(21);
    expect(standing.notes.at(-1)).toContain('more was asked');
  });
});

describe('waiting with a client that is asked in the result', () => {
  const asking: ClientAsking = { kind: 'in the result' };

  it('ends with all that it has not been asked about, sixteen at most', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    const { service } = serviceOf(waits(...ids));
    const standing = newStanding(45_000);
    standing.asked.add('0');
    const result = await awaitAsking({ service }, waitOf(asking), standing);
    expect(result).toMatchObject({ kind: 'questions' });
    const questions = result.kind === 'questions' ? result.questions : [];
    expect(questions.map(({ approvalId }) => approvalId)).toEqual(ids.slice(1, 17));
    expect([...standing.asked]).toEqual(ids.slice(0, 17));
  });

  it('is asked eight times a call, and no more after that', async () => {
    const standing = newStanding(45_000);
    for (let round = 1; round <= 8; round += 1) {
      const { service } = serviceOf(waits(`${round}`));
      const result = await awaitAsking({ service }, waitOf(asking), standing);
      expect(result.kind).toBe('questions');
    }
    const { service, queries } = serviceOf(waits('9'));
    const result = await awaitAsking({ service }, waitOf(asking), standing);
    expect(result).toEqual({ kind: 'over', outcome: waits('9') });
    expect(queries[0]?.stopAt).toEqual({ kind: 'all wait', patient: false });
  });

  it('decides what was answered, and nothing else', async () => {
    const { service, decisions } = serviceOf();
    const standing = newStanding(45_000);
    const about = ['1', '2', '3', '4'].map((approvalId) => ({
      handle: handleOf('a'),
      approvalId,
      tool: `tool_${approvalId}`,
    }));
    const answers = { 1: yes, 2: no, 3: { roots: [] }, 5: yes, __proto__: yes };
    await takeAnswers({ service }, asker, about, answers, standing);
    expect(decisions).toEqual(['1 allowed', '2 declined']);
    expect(standing.notes).toHaveLength(4);
    expect(standing.notes.slice(2)).toEqual([
      `the client sent no answer about tool_3 of ${handleOf('a')}`,
      `the client sent no answer about tool_4 of ${handleOf('a')}`,
    ]);
  });
});

it('a client that cannot be asked waits as it always has', async () => {
  const { service, queries } = serviceOf(waits('1'));
  const result = await awaitAsking({ service }, waitOf(null), newStanding(45_000));
  expect(result).toEqual({ kind: 'over', outcome: waits('1') });
  expect(queries).toMatchObject([{ timeoutMs: 45_000, stopAt: { kind: 'all wait', patient: true } }]);
});
