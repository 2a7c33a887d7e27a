import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import type { Handle } from '../../contracts/ids.ts';
import { runInputSchema } from '../../contracts/run.ts';
import type { ListedTool } from '../../contracts/tool-listing.ts';
import {
  continuationBytes,
  continuationLimitBytes,
  continuationOf,
  isContinuation,
  readContinuation,
} from '../../workflows/continuation.ts';
import { startRun, type RunState } from '../../workflows/run-state.ts';
import { appendMessages } from '../../workflows/transcript.ts';

const handle = 'run_0123456789abcdefghijkl' as Handle;

function begun(over: Record<string, unknown> = {}): RunState {
  const input = runInputSchema.parse({ task: 'a task', caller: 'tests', ...over });
  return startRun(handle, input, 1_000);
}

const round = (id: string, content: string): ChatMessage[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 't', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content },
];

/** As Temporal carries it from one execution to the next. */
const carried = (state: RunState): unknown => JSON.parse(JSON.stringify(continuationOf(state)));

describe('what a run hands to its next execution', () => {
  it('is read as the very state that was handed over', () => {
    fc.assert(
      fc.property(
        fc.record({
          task: fc.string({ minLength: 1, unit: 'grapheme' }),
          system: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
          results: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
          turns: fc.nat(),
          unknown: fc.dictionary(fc.string(), fc.nat({ max: 5 })),
          model: fc.option(fc.string({ minLength: 1 })),
        }),
        ({ task, system, results, turns, unknown, model }) => {
          const fresh = begun({ task, system });
          const state: RunState = {
            ...fresh,
            model,
            transcript: appendMessages(
              { ...fresh.transcript, droppedRounds: turns },
              results.flatMap((content, index) => round(`c${index}`, content)),
            ),
            counters: { ...fresh.counters, turns },
            unknownNames: { ...unknown },
            phase: 'model turn 7',
          };
          const read = readContinuation(carried(state), handle);
          expect(read).toEqual({ kind: 'ok', state: JSON.parse(JSON.stringify(state)) });
        },
      ),
    );
  });

  it('has task and system prompt once, inside the messages', () => {
    const text = JSON.stringify(continuationOf(begun({ task: 'needle-one', system: 'needle-two' })));
    expect(text.split('needle-one')).toHaveLength(2);
    expect(text.split('needle-two')).toHaveLength(2);
  });

  it('is told from a first input', () => {
    expect(isContinuation(carried(begun()))).toBe(true);
    for (const given of [begun().input, null, 'x', [1], {}]) expect(isContinuation(given)).toBe(false);
  });

  it.each<[string, (given: Record<string, unknown>) => unknown, RegExp]>([
    ['another version', (given) => ({ ...given, continuation: 99 }), /must be version 1, got 99/],
    ['another run', (given) => ({ ...given, handle: 'run_x' }), /handle: must be that of this run/],
    ['no messages', (given) => ({ ...given, messages: [] }), /messages: must be chat messages/],
    [
      'messages of another kind',
      (given) => ({ ...given, messages: [{ role: 'user', content: 'x' }, { role: 'robot' }] }),
      /messages: must be chat messages/,
    ],
    ['no state', (given) => ({ ...given, carried: null }), /carried: must be an object/],
    ['an input out of bounds', (given) => ({ ...given, input: { caller: '' } }), /caller: must be/],
    [
      'a field of another kind',
      (given) => ({ ...given, carried: { ...(given['carried'] as object), tools: 'all' } }),
      /carried\.tools: is of another kind/,
    ],
    [
      'counters of another kind',
      (given) => ({ ...given, carried: { ...(given['carried'] as object), counters: { turns: 'two' } } }),
      /counters\.turns: is of another kind/,
    ],
    [
      'a number of dropped replies that is none',
      (given) => ({ ...given, droppedRounds: null }),
      /droppedRounds/,
    ],
  ])('is refused with the fault named: %s', (_, change, fault) => {
    const read = readContinuation(change(carried(begun()) as Record<string, unknown>), handle);
    expect(read.kind === 'faults' ? read.faults.join('; ') : 'was taken').toMatch(fault);
  });

  it('gets what a newer version remembers besides from a fresh run', () => {
    const { carried: state, ...rest } = carried(begun()) as { carried: Record<string, unknown> };
    const { phase: _phase, unknownNames: _names, ...older } = state;
    const read = readContinuation({ ...rest, carried: older }, handle);
    expect(read).toMatchObject({ kind: 'ok', state: { phase: 'starting', unknownNames: {} } });
  });

  it('stays under what Temporal takes with the longest transcript and tool list there are', () => {
    const tools = Array.from({ length: 40 }, (_, index): ListedTool => ({
      name: `t${index}`,
      server: 's',
      serverTool: 't',
      description: 'd'.repeat(9_900),
      inputSchema: {},
      annotations: {},
    }));
    const rounds = Array.from({ length: 30 }, (_, index) => round(`c${index}`, 'x'.repeat(49_800))).flat();
    const fresh = begun();
    const full: RunState = { ...fresh, tools, transcript: appendMessages(fresh.transcript, rounds) };
    expect(full.transcript.bytes).toBeGreaterThan(1_490_000);
    const whole = continuationOf(full);
    expect(whole?.messages).toEqual(full.transcript.messages);
    expect(continuationBytes(whole ?? neverHappens())).toBeLessThanOrEqual(continuationLimitBytes);
    // More than the listing's bound: the transcript gives way.
    const over = continuationOf({ ...full, tools: [...tools, ...tools] });
    expect(continuationBytes(over ?? neverHappens())).toBeLessThanOrEqual(continuationLimitBytes);
    expect(over?.messages).toHaveLength(full.transcript.messages.length);
    expect(over?.messages[2]?.content).toContain('were left out to keep the transcript small');
    const fixed = begun({ task: 'x'.repeat(1_900_000) });
    expect(continuationOf({ ...fixed, tools })).toBeNull();
  });
});

function neverHappens(): never {
  throw new Error('there is no continuation');
}
