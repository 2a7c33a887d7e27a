import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterReply,
  agentOfTask,
  isExpected,
  openingOf,
  planAgent,
} from '../../../bench/operate/agent-plan.ts';
import { indexOfTask } from '../../../bench/durability/workload.ts';
import type { Reply } from '../../../bench/agents/dialogue.ts';

const shape = { fewestTurns: 2, mostTurns: 6, slowestToolMs: 50 };
const calling = (topic: string): Reply => ({
  content: '',
  calls: [{ id: 'call_1', name: 'lookup', arguments: JSON.stringify({ topic }) }],
});
const saying = (content: string): Reply => ({ content, calls: [] });

describe('the run of an agent', () => {
  it('is the same for the same number and seed, within its shape', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (number, seed) => {
        const plan = planAgent(`a-${number}`, seed, shape);
        expect(planAgent(`a-${number}`, seed, shape)).toEqual(plan);
        expect(plan.turns).toBeGreaterThanOrEqual(2);
        expect(plan.turns).toBeLessThanOrEqual(6);
        expect(plan.toolMs).toBeLessThanOrEqual(50);
      }),
    );
  });

  it('comes in both classes, named and not', () => {
    const plans = Array.from({ length: 200 }, (_, number) => planAgent(`${number}`, 1, shape));
    expect(new Set(plans.map(({ serviceClass }) => serviceClass)).size).toBe(2);
    expect(new Set(plans.map(({ named }) => named)).size).toBe(2);
  });

  it('is told from its task, and from those of durable runs', () => {
    const [opening] = openingOf(planAgent('3-14', 1, shape));
    expect(agentOfTask(opening?.content ?? '')).toBe('3-14');
    expect(indexOfTask(opening?.content ?? '')).toBeNull();
    expect(agentOfTask('Do the work of run 7. [[sim {}]]')).toBeNull();
  });
});

describe('a reply', () => {
  const plan = { ...planAgent('3-14', 1, shape), turns: 3 };

  it('is right when it belongs to this run and this turn', () => {
    expect(isExpected(plan, 0, calling('3-14 turn 0'))).toBe(true);
    expect(isExpected(plan, 2, saying('The answer of agent 3-14 after 3 turns.'))).toBe(true);
  });

  it.each([
    ['another turn', 1, calling('3-14 turn 0')],
    ['another run', 0, calling('3-15 turn 0')],
    ['an answer too early', 1, saying('The answer of agent 3-14 after 3 turns.')],
    ['a call where the answer is due', 2, calling('3-14 turn 2')],
    ['half an answer', 2, saying('The answer of agent 3-14')],
    ['two calls', 0, { content: '', calls: [...calling('3-14 turn 0').calls, ...calling('x').calls] }],
  ])('is wrong when it is %s', (_name, turn, reply) => {
    expect(isExpected(plan, turn, reply)).toBe(false);
  });

  it('goes into the conversation with a result for its call', () => {
    const [said, result] = afterReply(calling('3-14 turn 0'));
    expect(said?.tool_calls?.[0]?.id).toBe('call_1');
    expect(result).toMatchObject({ role: 'tool', tool_call_id: 'call_1' });
  });
});
