/** The public cases of replies whose calls cannot be run as they came, from the reply to the run's next step. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ModelTurnResult } from '../../../activities/activity-types.ts';
import { createReplyCollector } from '../../../activities/model-turn/collect-reply.ts';
import { readReply } from '../../../activities/model-turn/read-reply.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { Handle } from '../../../contracts/ids.ts';
import { runFailureTypes, runInputSchema } from '../../../contracts/run.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';
import { advance, type AnsweredCall, type Step } from '../../../workflows/next-step.ts';
import { startRun, type RunState } from '../../../workflows/run-state.ts';
import { caseFile, expectOf, type CaseFile } from '../../case-file.ts';
import { toolOf } from './case-tools.ts';

const choiceSchema = z.object({
  finish_reason: z.string().nullable(),
  message: z.looseObject({
    content: z.string().nullable(),
    tool_calls: z.array(
      z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }),
    ),
  }),
});
type Choice = z.infer<typeof choiceSchema>;
const variantsSchema = z.record(z.string(), z.object({ choices: z.tuple([choiceSchema]) }));
const variantsOf = (from: CaseFile): [string, Choice][] =>
  Object.entries(variantsSchema.parse(from.given['variants'])).map(([name, { choices }]) => [
    name,
    choices[0],
  ]);

const wantedSchema = z.looseObject({
  tools_run: z.number().optional(),
  tools_run_any_of: z.array(z.number()).optional(),
  never_run: z.array(z.string()).default([]),
  hint: z.string().default(''),
  tool_message_for: z.string().optional(),
  loop: z.literal('continue').optional(),
});
const validate = createValidator();

class Run {
  state: RunState;
  step: Step;
  readonly #tools: readonly ListedTool[];

  constructor(tools: readonly ListedTool[], maxToolCalls = 100) {
    this.#tools = tools;
    const input = runInputSchema.parse({ task: 'a task', caller: 'tests', maxToolCalls });
    ({ state: this.state, step: this.step } = advance(startRun('run_x' as Handle, input, 0), {
      kind: 'tools-resolved',
      tools,
    }));
  }

  /** The model replies to its turn. */
  reply({ finish_reason: finishReason, message }: Choice): void {
    const collector = createReplyCollector();
    const calls = message.tool_calls.map((call, index) => ({ ...call, index }));
    collector.add({ choices: [{ delta: { content: message.content, tool_calls: calls } }] });
    collector.add({ choices: [{ delta: {}, finish_reason: finishReason }] });
    const reply = collector.reply();
    const read = readReply(reply, {
      turn: this.state.counters.turns + 1,
      tools: this.#tools,
      transcript: this.state.transcript.messages,
      validate,
    });
    const turn: ModelTurnResult = { ...reply, ...read, model: 'm', modelMs: 1, heldMs: 0 };
    ({ state: this.state, step: this.step } = advance(this.state, { kind: 'turn', turn }));
  }

  /** Every call is answered: those that run with `ok`. */
  answer(): void {
    const answers = this.calls.map((call): AnsweredCall => ({
      id: call.id,
      content: call.kind === 'run' ? 'ok' : call.text,
      failed: call.kind === 'refuse',
      toolMs: 0,
    }));
    ({ state: this.state, step: this.step } = advance(this.state, { kind: 'tools', answers }));
  }

  get calls() {
    return this.step.kind === 'run-tools' ? this.step.calls : [];
  }

  /** Texts of the calls that are not run. */
  get refusals(): string[] {
    return this.calls.flatMap((call) => (call.kind === 'refuse' ? [call.text] : []));
  }

  get ran(): string[] {
    return this.calls.filter(({ kind }) => kind === 'run').map(({ id }) => id);
  }
}

const text = { type: 'string' };
const writeFile = toolOf('write_file', {
  type: 'object',
  properties: { path: text, text },
  required: ['path', 'text'],
});
const runAll = toolOf('run_all', {
  type: 'object',
  properties: { commands: { type: 'array', items: text } },
  required: ['commands'],
});

const replyOf = (name: string, written: string, finishReason = 'tool_calls', id = 'call_u1'): Choice => ({
  finish_reason: finishReason,
  message: { content: null, tool_calls: [{ id, function: { name, arguments: written } }] },
});

const a12 = caseFile('A12');
const a19 = caseFile('A19');

describe(`${a12.id} ${a12.title}`, () => {
  it.each(variantsOf(a12))('%s', (name, choice) => {
    const wanted = wantedSchema.parse(expectOf(a12, name));
    const run = new Run([writeFile, runAll]);
    run.reply(choice);
    expect(wanted.tools_run_any_of ?? [wanted.tools_run]).toContain(run.ran.length);
    for (const id of wanted.never_run) expect(run.ran).not.toContain(id);
    expect(a12.expect['feedback']).toContain('cut off');
    for (const refusal of run.refusals) {
      expect(refusal).toMatch(/cut off.*less.*smaller/);
      expect(refusal).not.toMatch(/json/i);
    }
    expect(run.refusals.length).toBeGreaterThan(0);
    // The engine gets JSON of an object back, never half of one.
    const sent = run.state.transcript.messages.at(-1);
    const written = sent?.role === 'assistant' ? (sent.tool_calls ?? []) : [];
    expect(written.map((call) => typeof JSON.parse(call.function.arguments))).toEqual(
      written.map(() => 'object'),
    );
  });

  it('is seen wherever the arguments stop, and whatever the label says', () => {
    const value = fc.record({ path: fc.string({ minLength: 1 }), text: fc.string({ minLength: 1 }) });
    const label = fc.constantFrom('length', 'tool_calls', 'stop', 'other', '');
    fc.assert(
      fc.property(value, fc.nat(), label, (given, seed, finishReason) => {
        const whole = JSON.stringify(given);
        const run = new Run([writeFile]);
        run.reply(replyOf('write_file', whole.slice(0, 1 + (seed % (whole.length - 1))), finishReason));
        expect(run.ran).toEqual([]);
        expect(run.refusals).toEqual([expect.stringContaining('cut off')]);
      }),
      { numRuns: 300 },
    );
  });

  it('is seen in arguments that were encoded twice or wrapped', () => {
    for (const written of [
      '"{\\"path\\":\\"n.md\\",\\"te"',
      '{"arguments":"{\\"path\\":\\"n.md\\",\\"te"}',
    ]) {
      const run = new Run([writeFile]);
      run.reply(replyOf('write_file', written));
      expect(run.refusals).toEqual([expect.stringContaining('cut off')]);
    }
  });
});

describe(`${a19.id} ${a19.title}`, () => {
  const names = z.array(z.string()).parse(a19.given['tools']);
  const tools = names.map((name) => ({
    ...toolOf(name, { type: 'object' }),
    serverTool: name.split('__').at(-1) ?? name,
  }));

  it.each(variantsOf(a19))('%s', (name, choice) => {
    const wanted = wantedSchema.parse(expectOf(a19, name));
    const run = new Run(tools);
    run.reply(choice);
    expect(wanted.tools_run_any_of ?? [wanted.tools_run]).toContain(run.ran.length);
    expect(run.refusals.join('\n')).toContain(wanted.hint);
    run.answer();
    const messages = run.state.transcript.messages.slice(-2);
    expect(messages).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: wanted.tool_message_for }] },
      { role: 'tool', tool_call_id: wanted.tool_message_for, content: expect.stringMatching(/^Error: /) },
    ]);
    expect(run.step.kind).toBe('run-turn');
  });

  it('never ends a run by itself, whatever the name', () => {
    const odd = fc.constantFrom('__proto__', 'constructor', 'toString', 'bash ', 'BASH', 'fs.search_files');
    fc.assert(
      fc.property(fc.oneof(fc.string(), odd), (name) => {
        fc.pre(!names.includes(name));
        const run = new Run(tools);
        run.reply(replyOf(name, '{}'));
        expect(run.ran).toEqual([]);
        expect(run.refusals).toHaveLength(1);
        run.answer();
        expect(run.step.kind).toBe('run-turn');
        const shown = run.state.transcript.messages.flatMap((message) =>
          message.role === 'assistant' ? (message.tool_calls ?? []) : [],
        );
        expect(shown[0]?.function.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
  });

  it.each(['generic_command', '', '__proto__', 'constructor'])(
    'six times the same name (%j) ends the run with a clear reason, before its limit of calls',
    (name) => {
      expect(a19.expect['same_unknown_name_six_times']).toContain('ends with a clear reason');
      const run = new Run(tools, 50);
      for (let times = 1; times < 6; times += 1) {
        run.reply(replyOf(name, '{}'));
        expect(run.step.kind).toBe('run-tools');
        run.answer();
      }
      run.reply(replyOf(name, '{}'));
      expect(run.step).toMatchObject({ kind: 'fail', type: runFailureTypes.unknownTool });
      expect(run.step).toMatchObject({ reason: expect.stringContaining('does not exist') });
      expect(run.state.counters.toolCalls).toBeLessThan(50);
    },
  );
});
