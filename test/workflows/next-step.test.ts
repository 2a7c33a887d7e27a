import { describe, expect, it } from 'vitest';
import type { ModelTurnResult, TurnCall } from '../../activities/activity-types.ts';
import type { Handle } from '../../contracts/ids.ts';
import { runInputSchema } from '../../contracts/run.ts';
import type { ListedTool } from '../../contracts/tool-listing.ts';
import { advance, type Advance, type LastResult } from '../../workflows/next-step.ts';
import { memoOf, endRun, startRun, type RunState } from '../../workflows/run-state.ts';

const lookup: ListedTool = {
  name: 'kit__lookup',
  server: 'kit',
  serverTool: 'lookup',
  description: '',
  inputSchema: {},
  annotations: { readOnlyHint: true },
};

function newRun(input: Record<string, unknown> = {}): RunState {
  return startRun('run_x' as Handle, runInputSchema.parse({ task: 'a task', caller: 'tests', ...input }), 0);
}

function turn(part: Partial<ModelTurnResult> = {}): LastResult {
  return {
    kind: 'turn',
    turn: {
      message: { role: 'assistant', content: 'answer' },
      calls: [],
      finishReason: 'stop',
      model: 'm',
      promptTokens: 10,
      completionTokens: 5,
      cachedTokens: 4,
      modelMs: 100,
      heldMs: 20,
      ...part,
    },
  };
}

function callTurn(calls: readonly TurnCall[], text: string | null = null): LastResult {
  return turn({
    message: {
      role: 'assistant',
      content: text,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: '{"written":1}' },
      })),
    },
    calls,
    finishReason: 'tool_calls',
  });
}

const unknown = (id: string, name = 'nope'): TurnCall => ({
  id,
  name,
  refusal: { kind: 'unknown-tool', text: `Error: there is no tool '${name}'` },
});
const answers = (...ids: string[]): LastResult => ({
  kind: 'tools',
  answers: ids.map((id) => ({ id, content: `result ${id}`, failed: false, toolMs: 3 })),
});

/** Runs results through the run in order and gives the last advance. */
function play(state: RunState, ...results: LastResult[]): Advance {
  let current = advance(state, { kind: 'tools-resolved', tools: [lookup] });
  for (const result of results) current = advance(current.state, result);
  return current;
}

describe('a run', () => {
  it('begins with a turn that offers its tools', () => {
    expect(play(newRun())).toMatchObject({
      step: { kind: 'run-turn', turn: 1, offerTools: true },
      state: { phase: 'model turn 1', status: 'Running' },
    });
  });

  it('runs the calls of a reply and goes on with their results', () => {
    const asked = play(
      newRun(),
      callTurn([
        { id: 'a', name: 'kit__lookup' },
        { id: 'b', name: 'kit__lookup', arguments: '{"mended":1}' },
      ]),
    );
    expect(asked.step).toEqual({
      kind: 'run-tools',
      calls: [
        { kind: 'run', id: 'a', name: 'kit__lookup', tool: lookup, arguments: '{"written":1}' },
        { kind: 'run', id: 'b', name: 'kit__lookup', tool: lookup, arguments: '{"mended":1}' },
      ],
    });
    const next = advance(asked.state, answers('a', 'b'));
    expect(next.step).toEqual({ kind: 'run-turn', turn: 2, offerTools: true });
    expect(next.state.transcript.messages.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
    ]);
    expect(next.state.counters).toEqual({
      turns: 1,
      toolCalls: 2,
      failedToolCalls: 0,
      promptTokens: 10,
      completionTokens: 5,
      cachedTokens: 4,
      modelMs: 100,
      toolMs: 6,
      heldMs: 20,
    });
  });

  it('finishes with the first reply without calls', () => {
    expect(play(newRun(), turn()).step).toEqual({ kind: 'finish', text: 'answer', cut: false });
  });

  it('says of an answer that stopped at the token limit that it is cut', () => {
    expect(play(newRun(), turn({ finishReason: 'length' })).step).toMatchObject({
      kind: 'finish',
      cut: true,
    });
  });

  it('keeps its system prompt in front of the task', () => {
    const roles = newRun({ system: 'be brief' }).transcript.messages.map((message) => message.role);
    expect(roles).toEqual(['system', 'user']);
  });
});

describe('the tool budget', () => {
  const one: LastResult = callTurn([{ id: 'a', name: 'kit__lookup' }]);

  it('takes the tools away once it is used up', () => {
    const spent = play(newRun({ maxToolCalls: 1 }), one, answers('a'));
    expect(spent.step).toEqual({ kind: 'run-turn', turn: 2, offerTools: false });
  });

  it('answers the calls beyond it without running them', () => {
    const { step } = play(
      newRun({ maxToolCalls: 1 }),
      callTurn([
        { id: 'a', name: 'kit__lookup' },
        { id: 'b', name: 'kit__lookup' },
      ]),
    );
    expect(step).toMatchObject({
      calls: [
        { kind: 'run', id: 'a' },
        { kind: 'refuse', id: 'b', text: expect.stringContaining('used up') as string },
      ],
    });
  });

  it('makes what the model says beside further calls the answer, without a call that nobody answers', () => {
    const after = play(newRun({ maxToolCalls: 1 }), one, answers('a'), callTurn([unknown('b')], 'so it is'));
    expect(after.step).toEqual({ kind: 'finish', text: 'so it is', cut: false });
    expect(after.state.transcript.messages.at(-1)).toEqual({ role: 'assistant', content: 'so it is' });
  });

  it('ends a run that only calls on with a reason', () => {
    const after = play(newRun({ maxToolCalls: 1 }), one, answers('a'), callTurn([unknown('b')]));
    expect(after.step).toMatchObject({
      kind: 'fail',
      type: 'NoAnswer',
      reason: expect.stringContaining('used up') as string,
    });
  });

  it('bounds the turns of a run whatever the model does', () => {
    let current = play(newRun({ maxToolCalls: 5 }));
    let turns = 0;
    while (current.step.kind === 'run-turn') {
      turns += 1;
      const calls = [{ id: `c${turns}`, name: 'kit__lookup' }];
      current = advance(current.state, callTurn(calls));
      if (current.step.kind === 'run-tools') current = advance(current.state, answers(`c${turns}`));
    }
    expect(turns).toBe(6);
  });
});

describe('unknown tool names (A19)', () => {
  it('are answered with the hint, and the run goes on', () => {
    const asked = play(newRun(), callTurn([unknown('u1')]));
    expect(asked.step).toMatchObject({
      kind: 'run-tools',
      calls: [{ kind: 'refuse', id: 'u1', text: "Error: there is no tool 'nope'" }],
    });
  });

  it('end the run with a clear reason at the sixth time of the same one', () => {
    let current = play(newRun({ maxToolCalls: 50 }));
    let asked = 0;
    while (current.step.kind === 'run-turn') {
      asked += 1;
      current = advance(
        current.state,
        callTurn([unknown(`a${asked}`), unknown(`b${asked}`, `other${asked}`)]),
      );
      if (current.step.kind === 'run-tools')
        current = advance(current.state, answers(`a${asked}`, `b${asked}`));
    }
    expect(asked).toBe(6);
    expect(current.step).toEqual({
      kind: 'fail',
      type: 'UnknownToolRepeated',
      reason: "the model asked 6 times for the tool 'nope', which does not exist",
    });
  });
});

describe('a reply that is no answer', () => {
  it.each([
    ['nothing before the token limit', { finishReason: 'length' }, 'raise maxTokens'],
    ['withheld by the engine', { finishReason: 'content_filter' }, 'content_filter'],
    ['calls announced and none sent', { finishReason: 'tool_calls' }, 'announced tool calls'],
  ])('%s fails the run with a reason', (_name, part, reason) => {
    const { step } = play(newRun(), turn({ message: { role: 'assistant', content: '' }, ...part }));
    expect(step).toMatchObject({
      kind: 'fail',
      type: 'NoAnswer',
      reason: expect.stringContaining(reason) as string,
    });
  });

  it('too much for one transcript fails the run with a reason', () => {
    const { step } = play(newRun({ task: 'x'.repeat(1_600_000) }));
    expect(step).toMatchObject({
      kind: 'fail',
      type: 'TranscriptTooLarge',
      reason: expect.stringContaining('smaller task') as string,
    });
  });
});

describe('the memo', () => {
  it('shows the last text as partial only when the run did not complete', () => {
    const asked = play(newRun(), callTurn([{ id: 'a', name: 'kit__lookup' }], 'looking'));
    expect(memoOf(asked.state)).toMatchObject({
      status: 'Running',
      phase: 'tools: kit__lookup',
      partial: null,
    });
    expect(memoOf(endRun(asked.state, 'Cancelled', 'stop'))).toMatchObject({
      status: 'Cancelled',
      phase: 'ended',
      reason: 'stop',
      partial: 'looking',
      counters: { turns: 1 },
    });
    expect(memoOf(endRun(asked.state, 'Completed', null)).partial).toBeNull();
  });

  it('stays small', () => {
    const state = endRun(newRun({ task: 'y'.repeat(100_000) }), 'Failed', 'z'.repeat(100_000));
    expect(JSON.stringify(memoOf(state)).length).toBeLessThan(6_000);
  });
});
