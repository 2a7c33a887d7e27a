import { describe, expect, it } from 'vitest';
import { taskOf, turnOfRequest } from '../../../bench/steps/runs.ts';
import { readDirectives } from '../../../testkit/sim-engine/core/directives.ts';

const tag = '0123456789abcdef';

describe('a task of the bench', () => {
  it('makes the engine call the tool once a turn, so often', () => {
    const text = taskOf(tag, { steps: 12, tool: 'lookup' });
    const directive = readDirectives([{ role: 'user', text, toolCalls: [], toolCallId: null }]);
    expect(directive).toMatchObject({ repeat: 12, answer: 'Done.' });
    expect(directive.calls).toHaveLength(1);
    expect(directive.calls?.[0]?.[0]?.tool).toBe('lookup');
  });

  it('is as long for a run of no step as for one of many, so that histories compare', () => {
    const lengths = [0, 30, 60].map((steps) => taskOf(tag, { steps, tool: 'deep_search' }).length);
    expect(new Set(lengths).size).toBe(1);
  });

  it('is found again in the requests that reach the engine, with the number of the turn', () => {
    const task = { role: 'user', content: taskOf(tag, { steps: 3, tool: 'lookup' }) };
    const reply = { role: 'assistant', content: null };
    const result = { role: 'tool', content: 'found' };
    expect(turnOfRequest({ messages: [task] })).toEqual({ tag, turn: 1 });
    expect(turnOfRequest({ messages: [task, reply, result, reply, result] })).toEqual({ tag, turn: 3 });
    expect(turnOfRequest({ messages: [{ role: 'user', content: 'somebody else' }] })).toBeNull();
    expect(turnOfRequest(null)).toBeNull();
  });
});
