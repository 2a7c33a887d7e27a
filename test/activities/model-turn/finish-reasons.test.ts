/** Replies whose finish reason says something else than their message, and what a run does with them. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createReplyCollector } from '../../../activities/model-turn/collect-reply.ts';
import { readReply } from '../../../activities/model-turn/read-reply.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { Handle } from '../../../contracts/ids.ts';
import { runInputSchema } from '../../../contracts/run.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';
import { advance, type Step } from '../../../workflows/next-step.ts';
import { startRun } from '../../../workflows/run-state.ts';
import { caseFile, expectOf } from '../../case-file.ts';

const s21 = caseFile('S21');
const choiceSchema = z.object({
  finish_reason: z.string().nullable(),
  message: z.looseObject({
    content: z.string().nullable(),
    tool_calls: z
      .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
      .optional(),
  }),
});
const variants = z
  .object({ variants: z.record(z.string(), z.object({ choices: z.tuple([choiceSchema]) })) })
  .parse(s21.given).variants;
const wantedSchema = z.looseObject({
  tools_run: z.number(),
  loop: z.enum(['continue', 'end']).optional(),
  answer: z.string().optional(),
  extra_llm_calls_max: z.number().optional(),
});

const lookup: ListedTool = {
  name: 'lookup',
  server: 'kit',
  serverTool: 'lookup',
  description: '',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};
const validate = createValidator();

/** What a run does after this reply to its first turn. */
function stepAfter(choice: z.infer<typeof choiceSchema>): Step {
  const { content, tool_calls: calls = [] } = choice.message;
  const collector = createReplyCollector();
  collector.add({ choices: [{ delta: { content, tool_calls: calls }, finish_reason: null }] });
  collector.add({ choices: [{ delta: {}, finish_reason: choice.finish_reason }] });
  const reply = collector.reply();
  const read = readReply(reply, { turn: 1, tools: [lookup], transcript: [], validate });
  const input = runInputSchema.parse({ task: 'a task', caller: 'tests' });
  const begun = advance(startRun('run_x' as Handle, input, 0), { kind: 'tools-resolved', tools: [lookup] });
  const { finishReason, promptTokens, completionTokens, cachedTokens } = reply;
  const turn = { ...read, finishReason, promptTokens, completionTokens, cachedTokens };
  return advance(begun.state, { kind: 'turn', turn: { ...turn, model: 'm', modelMs: 1, heldMs: 0 } }).step;
}

const told = (step: Step): Record<string, unknown> => ({
  tools_run: step.kind === 'run-tools' ? step.calls.filter(({ kind }) => kind === 'run').length : 0,
  loop: step.kind === 'run-tools' || step.kind === 'run-turn' ? 'continue' : 'end',
  ...(step.kind === 'finish' ? { answer: step.text } : {}),
});

describe(`${s21.id} ${s21.title}`, () => {
  it.each(Object.entries(variants))('%s', (name, { choices: [choice] }) => {
    const { extra_llm_calls_max: _mostCalls, ...wanted } = wantedSchema.parse(expectOf(s21, name));
    expect(told(stepAfter(choice))).toMatchObject(wanted);
  });

  it.each(['stop', 'other', 'length_exceeded', '', null])(
    'calls are run, whatever the label: %j',
    (label) => {
      const calls = variants['a_stop_with_calls']?.choices[0];
      if (calls === undefined) throw new Error('the case has no calls');
      expect(told(stepAfter({ ...calls, finish_reason: label }))).toMatchObject({ tools_run: 2 });
    },
  );

  it('a label without calls asks the model no more than the case allows: not at all', () => {
    const empty = variants['b_label_without_calls']?.choices[0];
    if (empty === undefined) throw new Error('the case has no such reply');
    expect(told(stepAfter(empty))).toEqual({ tools_run: 0, loop: 'end' });
  });
});
