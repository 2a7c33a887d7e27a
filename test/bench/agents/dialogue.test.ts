import { describe, expect, it } from 'vitest';
import { dialogueOf, digestOf, offeredTools, type ChatMessage } from '../../../bench/agents/dialogue.ts';
import { agents, scenarios } from '../../../bench/sim/scenarios.ts';
import { planRun, type RunPlan } from '../../../bench/sim/workload.ts';
import { promptTokens, replyTokens, type SimMessage } from '../../../testkit/sim-engine/core/conversation.ts';
import { readDirectives } from '../../../testkit/sim-engine/core/directives.ts';
import { defaultScriptOptions, planReply, type ReplyPlan } from '../../../testkit/sim-engine/core/script.ts';
import { blockHashes } from '../../../testkit/sim-engine/core/tokens.ts';

function asSim(message: ChatMessage): SimMessage {
  return {
    role: message.role,
    text: message.content ?? '',
    toolCalls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      arguments: text,
    })),
    toolCallId: message.tool_call_id ?? null,
  };
}

/** The run as the simulated model would have it: prompt and reply of each turn. */
function play(plan: RunPlan): { prompt: number[]; reply: ReplyPlan; wanted: unknown; said: unknown }[] {
  const dialogue = dialogueOf('scripted', plan);
  const tools = offeredTools(plan);
  const messages = [...dialogue.opening()];
  return plan.turns.map((_, turn) => {
    const seen = messages.map(asSim);
    const reply = planReply(
      {
        messages: seen,
        tools,
        toolChoice: 'auto',
        parallelToolCalls: true,
        maxTokens: null,
        responseSchema: null,
        directive: readDirectives(seen),
      },
      defaultScriptOptions,
    );
    const said = {
      content: reply.content ?? '',
      calls: reply.calls.map((call, index) => ({ id: `c${turn}.${index}`, ...call })),
    };
    messages.push(...dialogue.after(turn, said));
    const wanted = dialogue.expected(turn);
    return {
      prompt: promptTokens(seen, tools),
      reply,
      wanted: wanted && digestOf([wanted]),
      said: digestOf([said]),
    };
  });
}

const shapes = scenarios.flatMap(({ name, loads }) =>
  loads.map((load, index) => [`${name} ${index}`, load.shape, index] as const),
);

describe('the scripted dialogue of a planned run', () => {
  it.each(shapes)('has the plan’s prompts and replies to the token: %s', (_name, shape, load) => {
    for (const [seed, agent, index] of [
      [1, 0, 0],
      [7, 3, 2],
      [1_001, 47, 9],
    ] as const) {
      const plan = planRun(seed, load, agent, index, shape);
      const turns = play(plan);
      expect(turns.map(({ prompt }) => prompt.length)).toEqual(plan.turns.map((turn) => turn.promptTokens));
      expect(turns.map(({ reply }) => reply.pieces.length)).toEqual(
        plan.turns.map((turn) => turn.outputTokens),
      );
      expect(turns.map(({ reply }) => reply.calls.map((call) => call.name))).toEqual(
        plan.turns.map(({ tool }) => (tool === null ? [] : [tool.name])),
      );
      expect(turns.map(({ said }) => said)).toEqual(turns.map(({ wanted }) => wanted));
    }
  });

  it('grows: each prompt begins with the one before it and the reply to that', () => {
    const [load] = [agents('batch', 1)];
    const turns = play(planRun(3, 0, 0, 0, load.shape));
    for (const [index, { prompt, reply }] of turns.entries()) {
      const next = turns[index + 1]?.prompt;
      if (next === undefined) continue;
      const before = [
        ...prompt,
        ...replyTokens(
          reply.pieces,
          reply.calls.map((call) => call.name),
        ),
      ];
      expect(next.slice(0, before.length)).toEqual(before);
    }
  });

  it('is another for each run, unless the plan shares a start', () => {
    const own = agents('batch', 2).shape;
    const shared = { ...own, shared: { prompts: 1, tokens: 800 } };
    const sharedBlocks = (shape: typeof own): number => {
      const [one = [], other = []] = [0, 1].map((agent) =>
        blockHashes(play(planRun(5, 0, agent, 0, shape))[0]?.prompt ?? []),
      );
      return one.filter((hash, index) => hash === other[index]).length;
    };
    // What is offered as tools is the same for all.
    expect(sharedBlocks(own)).toBeLessThan(5);
    expect(sharedBlocks(shared)).toBeGreaterThanOrEqual(50);
    expect(sharedBlocks(shared)).toBeLessThan(55);
  });

  it('says so when a prompt has no room for its directive', () => {
    const shape = { ...agents('batch', 1).shape, promptTokens: { lowest: 60, highest: 60 } };
    expect(() => dialogueOf('scripted', planRun(1, 0, 0, 0, shape))).toThrow(/60 tokens is too short/);
  });
});

describe('the plain dialogue of a planned run', () => {
  it('gives back what the model said, and results as messages of the user', () => {
    const plan = planRun(1, 0, 0, 0, agents('batch', 1).shape);
    const dialogue = dialogueOf('plain', plan);
    const [first] = dialogue.opening();
    expect(first?.role).toBe('user');
    expect(first?.content?.split(' ')).toHaveLength(plan.turns[0]?.promptTokens ?? 0);
    expect(dialogue.fields(1)).toMatchObject({ max_tokens: plan.turns[1]?.outputTokens });
    const said = { content: 'whatever', calls: [] };
    expect(dialogue.after(0, said).map(({ role, content }) => [role, content === 'whatever'])).toEqual([
      ['assistant', true],
      ['user', false],
    ]);
    expect(dialogue.after(plan.turns.length - 1, said)).toHaveLength(1);
    expect(dialogue.expected(0)).toBeNull();
  });
});

describe('the digest of what was said', () => {
  it('tells every difference but the ids of calls', () => {
    const call = { id: 'a', name: 'lookup', arguments: '{}' };
    const of = (content: string, one: typeof call): string => digestOf([{ content, calls: [one] }]);
    expect(of('', { ...call, id: 'b' })).toBe(of('', call));
    expect(of('x', call)).not.toBe(of('', call));
    expect(of('', { ...call, arguments: '{"a":1}' })).not.toBe(of('', call));
    expect(of('', { ...call, name: 'deep_search' })).not.toBe(of('', call));
  });
});
