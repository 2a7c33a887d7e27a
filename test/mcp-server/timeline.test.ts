import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { executionBefore, timelineOf, type History } from '../../mcp-server/runs/timeline.ts';
import { zeroCounters } from '../../contracts/run.ts';
import { handleOf } from './made-run.ts';

type Event = NonNullable<History['events']>[number];

function payloads(value: unknown) {
  return { payloads: [defaultPayloadConverter.toPayload(value)] };
}

/** Events a second apart. */
class Events {
  readonly all: Event[] = [];

  add(attributes: object): number {
    const id = this.all.length + 1;
    this.all.push({ eventId: id, eventTime: { seconds: id, nanos: 0 }, ...attributes } as unknown as Event);
    return id;
  }
  turn(turn: number): number {
    const activityType = { name: 'modelTurn' };
    const input = payloads({ turn });
    return this.add({
      activityTaskScheduledEventAttributes: { activityType, activityId: String(turn), input },
    });
  }
  call(tool: string, callId: string): number {
    const activityType = { name: 'callTool' };
    const input = payloads({ callId, arguments: 'x'.repeat(1_000) });
    return this.add({
      activityTaskScheduledEventAttributes: { activityType, activityId: `${tool} 1`, input },
    });
  }
  started(scheduledEventId: number, attempt: number): void {
    this.add({ activityTaskStartedEventAttributes: { scheduledEventId, attempt } });
  }
  completed(scheduledEventId: number, result: unknown): void {
    this.add({ activityTaskCompletedEventAttributes: { scheduledEventId, result: payloads(result) } });
  }
  waitsFor(...tools: string[]): void {
    const memo = {
      status: tools.length === 0 ? 'Running' : 'AwaitingApproval',
      phase: '',
      summary: '',
      model: null,
      class: 'batch',
      caller: 'ann',
      root: handleOf('a'),
      parent: null,
      counters: zeroCounters,
      reason: null,
      partial: null,
      pendingApprovals: tools.map((tool) => ({ id: `apr_${tool}`, tool, arguments: '{}' })),
    };
    const fields = { run: defaultPayloadConverter.toPayload(memo) };
    this.add({ workflowPropertiesModifiedEventAttributes: { upsertedMemo: { fields } } });
  }
}

const reply = {
  message: { role: 'assistant', content: 'long text' },
  model: 'm',
  calls: [{ id: 'c1', name: 'see' }],
  promptTokens: 10,
  completionTokens: 2,
  cachedTokens: 5,
  modelMs: 700,
  heldMs: 300,
  firstByteMs: 450,
};

function at(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

describe('the timeline of a run', () => {
  it('has turns and calls with what their results tell, and not their texts', () => {
    const events = new Events();
    const turn = events.turn(1);
    events.started(turn, 1);
    events.completed(turn, reply);
    const call = events.call('desk__see', 'c1');
    events.started(call, 3);
    events.completed(call, { content: 'secret', failed: true, toolMs: 5 });
    const spans = timelineOf(events.all);
    expect(spans).toEqual([
      {
        kind: 'turn',
        startedAt: at(1),
        endedAt: at(3),
        attempts: 1,
        outcome: 'ok',
        turn: 1,
        model: 'm',
        heldMs: 300,
        modelMs: 700,
        firstByteMs: 450,
        promptTokens: 10,
        completionTokens: 2,
        cachedTokens: 5,
        calls: ['see'],
      },
      {
        kind: 'tool',
        startedAt: at(4),
        endedAt: at(6),
        attempts: 3,
        outcome: 'failed',
        tool: 'desk__see',
        callId: 'c1',
        toolMs: 5,
      },
    ]);
    expect(JSON.stringify(spans)).not.toMatch(/secret|long text|xxx/);
  });

  it.each([
    ['activityTaskFailedEventAttributes', 'failed'],
    ['activityTaskTimedOutEventAttributes', 'failed'],
    ['activityTaskCanceledEventAttributes', 'cancelled'],
  ])('ends what ended with %s as %s, and leaves open what goes on', (attributes, outcome) => {
    const events = new Events();
    const first = events.turn(1);
    events.turn(2);
    events.add({ [attributes]: { scheduledEventId: first } });
    expect(timelineOf(events.all)).toMatchObject([
      { turn: 1, outcome, endedAt: at(3), modelMs: null },
      { turn: 2, outcome: 'running', endedAt: null },
    ]);
  });

  it('has waits for approval from the first word of them to the next one without them', () => {
    const events = new Events();
    events.waitsFor('a', 'b');
    events.waitsFor('a', 'b');
    events.waitsFor('b');
    events.waitsFor();
    events.waitsFor('c');
    expect(timelineOf(events.all)).toEqual([
      { kind: 'approval', tools: ['a', 'b'], startedAt: at(1), endedAt: at(3) },
      { kind: 'approval', tools: ['b'], startedAt: at(3), endedAt: at(4) },
      { kind: 'approval', tools: ['c'], startedAt: at(5), endedAt: null },
    ]);
    events.add({ workflowExecutionTerminatedEventAttributes: {} });
    expect(timelineOf(events.all).at(-1)).toMatchObject({ tools: ['c'], endedAt: at(6) });
  });

  it('leaves out other activities, and lives with events that it does not understand', () => {
    const events = new Events();
    const activityType = { name: 'reportRunEnded' };
    events.add({ activityTaskScheduledEventAttributes: { activityType, activityId: '1' } });
    events.add({ markerRecordedEventAttributes: {} });
    events.add({ activityTaskCompletedEventAttributes: { scheduledEventId: 99 } });
    const turn = events.add({
      activityTaskScheduledEventAttributes: { activityType: { name: 'modelTurn' }, activityId: '1' },
    });
    events.completed(turn, 'of another version');
    expect(timelineOf(events.all)).toMatchObject([{ kind: 'turn', turn: null, outcome: 'ok', model: null }]);
  });

  it('lacks the first byte of a turn from before it was measured, and nothing else', () => {
    const events = new Events();
    const turn = events.turn(1);
    const { firstByteMs: _firstByteMs, ...old } = reply;
    events.completed(turn, old);
    expect(timelineOf(events.all)).toMatchObject([{ modelMs: 700, heldMs: 300, firstByteMs: null }]);
  });

  it('knows the execution before, if the run is long', () => {
    const started = (continuedExecutionRunId: string) =>
      ({ workflowExecutionStartedEventAttributes: { continuedExecutionRunId } }) as unknown as Event;
    expect(executionBefore([started('')])).toBeNull();
    expect(executionBefore([])).toBeNull();
    expect(executionBefore([started('abc')])).toBe('abc');
  });
});
