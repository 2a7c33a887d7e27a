import { describe, expect, it } from 'vitest';
import { judge, type TranscriptMessage } from '../../../bench/durability/verdict.ts';
import { runKinds } from '../../../bench/durability/workload.ts';
import { callsOf, seen, seenRun, transcriptOf, turnAt } from './seen-run.ts';

const clean = { lost: [], unsettled: [], turnsDoubled: 0, callsDoubled: 0, effectsDoubled: 0 };

describe('the verdict on runs under kills', () => {
  it.each(runKinds)('finds nothing in a run by the book: %s', (kind) => {
    const run = seenRun(kind);
    const transcripts = new Map([[run.handle ?? '', transcriptOf(run)]]);
    expect(judge(seen({ runs: [run], calls: callsOf(run) }), transcripts)).toMatchObject(clean);
  });

  const run = seenRun('once');
  const handle = run.handle ?? '';
  const judgeWith = (transcript: readonly TranscriptMessage[], from: Parameters<typeof seen>[0] = {}) =>
    judge(seen({ runs: [run], calls: callsOf(run), ...from }), new Map([[handle, transcript]]));

  it('counts a turn that stands twice in a transcript', () => {
    const transcript = transcriptOf(run);
    const twice = [...transcript, ...transcript.slice(-1)];
    expect(judgeWith(twice).turnsDoubled).toBe(1);
  });

  it('counts a turn that was asked for twice as lost time, not as a fault', () => {
    const turns = [turnAt(run, 1, { finished: false }), turnAt(run, 1), turnAt(run, 2)];
    expect(judgeWith(transcriptOf(run), { turns })).toMatchObject({ ...clean, turnsAskedAgain: 1, turns: 2 });
  });

  it('tells apart a run that began without tools, when it ended with its answer all the same', () => {
    const transcript = [transcriptOf(run)[0], transcriptOf(run).at(-1)].flatMap((message) => message ?? []);
    expect(judgeWith(transcript).lost).toHaveLength(1);
    const verdict = judgeWith(transcript, { withoutTools: [handle] });
    expect(verdict).toMatchObject(clean);
    expect(verdict.toolsLeftOut).toHaveLength(1);
    const failed = seen({ runs: [{ ...run, status: 'Failed' }], withoutTools: [handle] });
    expect(judge(failed, new Map([[handle, transcript]]))).toMatchObject({ toolsLeftOut: [] });
  });

  it('counts a call that was made twice under one key', () => {
    const calls = callsOf(run);
    expect(judgeWith(transcriptOf(run), { calls: [...calls, ...calls.slice(1, 2)] }).callsDoubled).toBe(1);
  });

  it('counts a call that was made again under another key', () => {
    const calls = callsOf(run);
    const again = calls.slice(0, 1).map((call) => ({ ...call, callId: 'other' }));
    const verdict = judgeWith(transcriptOf(run), { calls: [...calls, ...again] });
    expect(verdict).toMatchObject({ callsDoubled: 0, effectsDoubled: 1 });
  });

  it('does not mind a repeated call of a tool that only reads', () => {
    const reader = seenRun('repeatable');
    const calls = callsOf(reader);
    const verdict = judge(
      seen({ runs: [reader], calls: [...calls, ...calls] }),
      new Map([[reader.handle ?? '', transcriptOf(reader)]]),
    );
    expect(verdict).toMatchObject({ ...clean, repeatedCalls: 2 });
  });

  it.each<[string, Partial<typeof run>, TranscriptMessage[]]>([
    ['failed', { status: 'Failed', reason: 'gone' }, transcriptOf(run)],
    ['has another answer', { result: 'something else' }, transcriptOf(run)],
    ['misses a call', {}, transcriptOf(run).toSpliced(3, 2)],
    ['has a call without a result', {}, transcriptOf(run).toSpliced(2, 1)],
    ['has two results of a call', {}, transcriptOf(run).toSpliced(2, 0, ...transcriptOf(run).slice(2, 3))],
  ])('calls a run lost that %s', (_, over, transcript) => {
    const verdict = judge(seen({ runs: [{ ...run, ...over }] }), new Map([[handle, transcript]]));
    expect(verdict.lost).toHaveLength(1);
  });

  it('calls a run lost whose transcript cannot be read, and tells of one that never settled', () => {
    const open = { ...seenRun('plain'), endMs: null, status: null };
    const verdict = judge(seen({ runs: [run, open] }), new Map());
    expect(verdict.lost).toHaveLength(1);
    expect(verdict.unsettled).toHaveLength(1);
  });
});
