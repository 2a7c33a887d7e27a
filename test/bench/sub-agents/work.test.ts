import { describe, expect, it } from 'vitest';
import { agents, flood } from '../../../bench/sim/scenarios.ts';
import { planRun } from '../../../bench/sim/workload.ts';
import { compareWork } from '../../../bench/sub-agents/crew.ts';
import type { WorkOutcome } from '../../../bench/sub-agents/outcome.ts';
import { seenName, workOf } from '../../../bench/sub-agents/work.ts';
import { promptTokens, type OfferedTool } from '../../../testkit/sim-engine/core/conversation.ts';
import { readDirectives } from '../../../testkit/sim-engine/core/directives.ts';
import { tokenize } from '../../../testkit/sim-engine/core/tokens.ts';

const offered = (name: string): OfferedTool => ({
  name,
  description: 'A tool.',
  parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
});
const shape = flood.loads[0]?.shape ?? agents('batch', 1).shape;

describe("a sub-agent's work", () => {
  it.each([0, 1, 2, 3])('has the first prompt, the calls and the answer of its plan (run %i)', (index) => {
    const plan = planRun(7, 0, 3, index, shape);
    const tool = offered(seenName('lookup'));
    const work = workOf(plan, 'lookup', tool);
    const message = { role: 'user' as const, text: work.task, toolCalls: [], toolCallId: null };
    expect(promptTokens([message], [tool])).toHaveLength(plan.turns[0]?.promptTokens ?? 0);
    const directive = readDirectives([message]);
    expect(directive.calls?.map((turn) => turn.map((call) => call.tool))).toEqual([
      ['lookup'],
      ['lookup'],
      ['lookup'],
    ]);
    expect(directive.answer).toBe(work.answer);
    expect(tokenize(work.answer)).toHaveLength(plan.turns.at(-1)?.outputTokens ?? 0);
    for (const [turn, call] of (directive.calls ?? []).flat().entries()) {
      expect(tokenize(JSON.stringify(call.arguments)).length + 1).toBe(plan.turns[turn]?.outputTokens);
    }
  });

  it('waits as long as its plan says, and says words of the planned length before', () => {
    const waiting = agents('interactive', 1, {
      tools: [{ name: 'wait', share: 1, durationMs: { lowest: 2_000, highest: 2_000 } }],
    });
    const plan = planRun(7, 0, 3, 0, waiting.shape);
    const work = workOf(plan, 'wait', offered(seenName('wait')));
    const directive = readDirectives([{ role: 'user', text: work.task, toolCalls: [], toolCallId: null }]);
    expect(directive.calls?.flat().map((call) => call.arguments)).toEqual(
      Array.from({ length: 3 }, () => ({ milliseconds: 2_000 })),
    );
    expect(tokenize(directive.preface ?? '').length).toBeGreaterThan(20);
  });

  it('is different for every run, so that no engine has seen it', () => {
    const tasks = [0, 1].map(
      (index) => workOf(planRun(7, 0, 3, index, shape), 'lookup', offered(seenName('lookup'))).task,
    );
    expect(tasks[0]?.slice(0, 60)).not.toBe(tasks[1]?.slice(0, 60));
  });
});

describe('the same runs of two crews', () => {
  const outcome = (fields: Partial<WorkOutcome> = {}): WorkOutcome => ({
    fault: null,
    answer: 'a',
    toolCalls: 3,
    promptTokens: 100,
    completionTokens: 10,
    ...fields,
  });

  it('are compared by answer, calls and prompt tokens', () => {
    const one = new Map([
      ['1', outcome()],
      ['2', outcome()],
      ['3', outcome()],
      ['4', outcome()],
    ]);
    const other = new Map([
      ['1', outcome({ promptTokens: 104 })],
      ['2', outcome({ answer: 'b' })],
      ['3', outcome({ toolCalls: 4 })],
    ]);
    expect(compareWork(one, other)).toEqual({ compared: 3, different: 2, promptRatio: 304 / 300 });
  });

  it('leave out what failed, and say nothing of nothing', () => {
    expect(compareWork(new Map([['1', outcome()]]), new Map([['1', outcome({ fault: 'lost' })]]))).toEqual({
      compared: 0,
      different: 0,
      promptRatio: null,
    });
  });
});
