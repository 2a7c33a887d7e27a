import { describe, expect, it } from 'vitest';
import type { ChildRun, Span, TurnSpan } from '../../web/api/types.ts';
import { ticks, waterfallOf, type WaterfallInput } from '../../web/model/waterfall.ts';

const zero = Date.UTC(2026, 0, 1);
const at = (ms: number): string => new Date(zero + ms).toISOString();

function turn(part: Partial<TurnSpan>): TurnSpan {
  return {
    kind: 'turn',
    turn: 1,
    outcome: 'ok',
    attempts: 1,
    model: 'm',
    heldMs: 0,
    modelMs: 0,
    firstByteMs: null,
    promptTokens: 10,
    completionTokens: 2,
    cachedTokens: 0,
    calls: [],
    startedAt: at(0),
    endedAt: at(1_000),
    ...part,
  };
}

function made(spans: readonly Span[], part: Partial<WaterfallInput> = {}) {
  const fall = waterfallOf({
    spans,
    children: [],
    startedAt: at(0),
    endedAt: at(5_000),
    earlierLeftOut: false,
    nowMs: zero + 9_000,
    ...part,
  });
  return { ...fall, startMs: fall.startMs - zero, endMs: fall.endMs - zero };
}

describe('the waterfall of a run', () => {
  it('lays the parts of a turn out from its end: queue, held, first byte, generation', () => {
    const { bars } = made([turn({ heldMs: 300, modelMs: 500, firstByteMs: 120 })]);
    const parts = bars[0]?.parts.map(({ kind, startMs, endMs }) => [kind, startMs - zero, endMs - zero]);
    expect(parts).toEqual([
      ['queued', 0, 200],
      ['held', 200, 500],
      ['first-byte', 500, 620],
      ['generation', 620, 1_000],
    ]);
    expect(bars[0]?.words).toBe(
      'Model turn 1: ok, took 1.0 s; queue and start 200 ms; held 300 ms; to first byte 120 ms; generation 380 ms; 10 + 2 tokens',
    );
  });

  it('tells no first byte of a turn from before it was measured', () => {
    const { bars } = made([turn({ modelMs: 1_000 })]);
    expect(bars[0]?.parts.map(({ kind }) => kind)).toEqual(['generation']);
  });

  it('never leaves its bar, whatever the times say', () => {
    const { bars } = made([turn({ heldMs: 9_000, modelMs: 9_000, firstByteMs: 20_000 })]);
    for (const { startMs, endMs } of bars[0]?.parts ?? []) {
      expect(startMs).toBeGreaterThanOrEqual(zero);
      expect(endMs).toBeLessThanOrEqual(zero + 1_000);
    }
  });

  it('draws a turn at work until now, as one part', () => {
    const running = turn({ endedAt: null, outcome: 'running', heldMs: null, modelMs: null });
    const { bars, endMs } = made([running], { endedAt: null });
    expect(bars[0]?.parts).toEqual([{ kind: 'turn', startMs: zero, endMs: zero + 9_000 }]);
    expect(endMs).toBe(9_000);
  });

  it('tells pauses: the time between two turns, and since the last one while tools or a person keep it away', () => {
    const second = turn({ turn: 2, startedAt: at(2_500), endedAt: at(3_000) });
    const tool: Span = {
      kind: 'tool',
      tool: 'desk__wait',
      callId: 'c',
      outcome: 'running',
      attempts: 2,
      toolMs: null,
      startedAt: at(3_100),
      endedAt: null,
    };
    const { pauses, bars } = made([turn({}), second, tool], { endedAt: null });
    expect(pauses.map(({ startMs, endMs }) => [startMs - zero, endMs - zero])).toEqual([
      [1_000, 2_500],
      [3_000, 9_000],
    ]);
    expect(bars.at(-1)?.words).toBe('Tool call desk__wait: running, goes on for 5.9 s; attempt 2');
  });

  it('has children and approvals among them, in the order of their start', () => {
    const child: ChildRun = {
      handle: 'run_1',
      status: 'Failed',
      phase: 'ended',
      task: 'Below',
      startedAt: at(1_500),
      endedAt: at(7_000),
    };
    const approval: Span = { kind: 'approval', tools: ['a', 'b'], startedAt: at(1_200), endedAt: at(1_400) };
    const { bars, endMs } = made([turn({}), approval], { children: [child] });
    expect(bars.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['turn', 'ok'],
      ['approval', 'ok'],
      ['child', 'failed'],
    ]);
    expect(bars[1]?.words).toBe('Waiting for approval of a, b: took 200 ms');
    expect([bars[2]?.handle, endMs]).toEqual(['run_1', 7_000]);
  });

  it('begins with what is known of a run whose beginning is left out', () => {
    const late = turn({ startedAt: at(4_000), endedAt: at(5_000) });
    const old: ChildRun = {
      handle: 'run_1',
      status: 'Completed',
      phase: 'ended',
      task: 'Old',
      startedAt: at(100),
      endedAt: at(200),
    };
    const { startMs, bars } = made([late], { earlierLeftOut: true, children: [old] });
    expect([startMs, bars.length]).toEqual([4_000, 1]);
  });

  it('has an axis for a run that has done nothing yet', () => {
    const { startMs, endMs, bars } = made([], { endedAt: at(0), nowMs: zero });
    expect([startMs, bars.length]).toEqual([0, 0]);
    expect(endMs).toBeGreaterThan(startMs);
  });

  it.each([1, 7, 999, 1_000, 61_000, 86_400_000, 9_999_999_999])('marks %d ms at round places', (length) => {
    const marks = ticks(length);
    expect(marks[0]).toBe(0);
    expect(marks.length).toBeLessThanOrEqual(6);
    expect(marks.at(-1)).toBeLessThanOrEqual(length);
    expect(marks.length).toBeGreaterThan(length >= 7 ? 1 : 0);
  });
});
