/** The public cases of calls that a model wrote as text, and of texts that only show one. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createReplyCollector } from '../../../activities/model-turn/collect-reply.ts';
import { readReply } from '../../../activities/model-turn/read-reply.ts';
import { recoverTextCalls } from '../../../activities/tool-calls/recover-text-calls.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import { caseFile, type CaseFile } from '../../case-file.ts';
import { toolOf } from './case-tools.ts';

const jsonSchema = z.record(z.string(), z.unknown());
const givenSchema = z.object({
  tools: z.array(z.object({ name: z.string(), parameters: jsonSchema })),
  cases: z
    .array(
      z.object({
        content: z.string(),
        tool_calls: z
          .array(
            z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }),
          )
          .default([]),
      }),
    )
    .min(1),
});
const expectedSchema = z.object({
  cases: z.array(
    z.object({
      tool_calls: z.array(z.object({ name: z.string(), arguments: jsonSchema })),
      content_left: z.string(),
    }),
  ),
});
const validate = createValidator();

type Given = z.infer<typeof givenSchema>;

/** What a run gets of this reply: calls with the arguments that their tools get, and the text beside them. */
function readingOf({ content, tool_calls: written }: Given['cases'][number], tools: Given['tools']): unknown {
  const collector = createReplyCollector();
  collector.add({ choices: [{ delta: { content, tool_calls: written }, finish_reason: null }] });
  collector.add({ choices: [{ delta: {}, finish_reason: 'stop' }] });
  const listed = tools.map(({ name, parameters }) => toolOf(name, parameters));
  const { message, calls } = readReply(collector.reply(), {
    turn: 1,
    tools: listed,
    transcript: [],
    validate,
  });
  return {
    tool_calls: calls.map(({ name, arguments: mended, refusal }, index) => ({
      name,
      arguments: refusal ?? JSON.parse(mended ?? message.tool_calls?.[index]?.function.arguments ?? ''),
    })),
    content_left: (message.content ?? '').trim(),
  };
}

function rowsOf(from: CaseFile) {
  const { tools, cases } = givenSchema.parse(from.given);
  const expected = expectedSchema.parse(from.expect).cases;
  expect(expected).toHaveLength(cases.length);
  return cases.map((reply, index) => ({ content: reply.content, reply, tools, expected: expected[index] }));
}

const known = new Set(['bash', 'get_weather', 'write_file']);

interface Call {
  readonly name: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Values without tags, line ends at their ends or what JSON would show otherwise. */
const word = fc.stringMatching(/^[a-z0-9 ,.;:(){}[\]"'\\/*+=-]{0,12}$/).map((text) => `v${text.trimEnd()}`);
const lines = fc.array(word, { minLength: 1, maxLength: 4 }).map((all) => all.join('\n'));
const call: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom(...known),
  fields: fc.dictionary(fc.constantFrom('path', 'text', 'command', 'city'), lines, {
    minKeys: 1,
    maxKeys: 3,
  }),
});
const sentence = fc.constantFrom('I will look.', 'First the towns!\n\nThen more.', 'Checking now…', '');

const tagged =
  (spacing: string, ends: boolean) =>
  ({ name, fields }: Call): string => {
    const parts = Object.entries(fields).map(
      ([key, value]) => `<parameter=${key}>${spacing}${value}${spacing}${ends ? '</parameter>' : ''}`,
    );
    return [`<function=${name}>`, ...parts, ...(ends ? ['</function>'] : [])].join('\n');
  };
const asJson =
  (key: string) =>
  ({ name, fields }: Call): string =>
    JSON.stringify({ name, [key]: fields });
const enclosed =
  (write: (one: Call) => string) =>
  (one: Call): string =>
    `<tool_call>\n${write(one)}\n</tool_call>`;

const taggedForms = [
  enclosed(tagged('\n', true)),
  enclosed(tagged('', true)),
  tagged('\n', true),
  enclosed(asJson('arguments')),
  enclosed(asJson('parameters')),
];
const wholeForms = [
  asJson('parameters'),
  asJson('arguments'),
  (one: Call) => `<|python_tag|>${asJson('parameters')(one)}`,
  (one: Call) => `<|python_start|>${asJson('parameters')(one)}<|python_end|>`,
  (one: Call) => `<|python_tag|>${pythonOf(one)}`,
  (one: Call) => `<|python_start|>[${pythonOf(one)}]<|python_end|>`,
  (one: Call) => `\`\`\`json\n${asJson('arguments')(one)}\n\`\`\``,
];

function pythonOf({ name, fields }: Call): string {
  return `${name}(${Object.entries(fields)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(', ')})`;
}

function recovered(content: string): unknown {
  const result = recoverTextCalls(content, known);
  if (result === null) return null;
  const calls = result.calls.map(({ name, arguments: text }) => ({
    name,
    fields: JSON.parse(text) as unknown,
  }));
  return { calls, content: result.content };
}

const a13 = caseFile('A13');
const a15 = caseFile('A15');
const a17 = caseFile('A17');

describe(`${a13.id} ${a13.title}`, () => {
  it.each(rowsOf(a13))('$content', ({ reply, tools, expected }) => {
    expect(readingOf(reply, tools)).toEqual(expected);
  });

  it('is read whatever sentences come before it, and however many there are', () => {
    fc.assert(
      fc.property(
        sentence,
        fc.array(fc.tuple(call, fc.constantFrom(...taggedForms)), { minLength: 1, maxLength: 3 }),
        fc.constantFrom('\n', '\n\n', ''),
        (before, calls, between) => {
          const written = calls.map(([one, form]) => form(one)).join(between);
          expect(recovered(`${before}${before === '' ? '' : '\n'}${written}`)).toEqual({
            calls: calls.map(([one]) => one),
            content: before,
          });
        },
      ),
    );
  });

  it('is read without its closing tags', () => {
    fc.assert(
      fc.property(sentence, call, fc.constantFrom('', '<tool_call>\n'), (before, one, open) => {
        const content = `${before}\n${open}${tagged(' ', false)(one)}`;
        expect(recovered(content)).toEqual({ calls: [one], content: before });
      }),
    );
  });
});

describe(`${a15.id} ${a15.title}`, () => {
  it.each(rowsOf(a15))('$content', ({ reply, tools, expected }) => {
    expect(readingOf(reply, tools)).toEqual(expected);
  });

  it('is read in each of its forms, for any call', () => {
    fc.assert(
      fc.property(call, fc.constantFrom(...wholeForms), (one, form) => {
        expect(recovered(form(one))).toEqual({ calls: [one], content: '' });
      }),
    );
  });

  it.each([
    ['<|python_tag|>[bash(command="ls"), get_weather(city="Bern", days=[1, 2], opts={"a": True})]', 2],
    ['<|python_tag|>bash(command="echo (a), b=\\"c\\"")', 1],
    ['<|python_tag|>bash("ls")', 0],
    ['<|python_tag|>bash(command=ls)', 0],
    ['<|python_tag|>bash(command="ls"); other(command="ls")', 0],
    ['<|python_tag|>bash(command="ls") | sort', 0],
    ['<|python_tag|>print(bash(command="ls"))', 0],
    ['<|python_tag|>bash(command="ls', 0],
  ])('%s has %i calls', (content, count) => {
    expect(recoverTextCalls(content, known)?.calls.length ?? 0).toBe(count);
  });

  it('is left alone where it names no tool', () => {
    fc.assert(
      fc.property(call, fc.constantFrom(...wholeForms), (one, form) => {
        expect(recovered(form({ ...one, name: 'perth' }))).toBeNull();
      }),
    );
  });
});

describe(`${a17.id} ${a17.title}`, () => {
  it.each(rowsOf(a17))('$content', ({ reply, tools, expected }) => {
    expect(readingOf(reply, tools)).toEqual(expected);
  });

  const shown = fc.constantFrom<(written: string) => string>(
    (written) => `To show it:\n\n\`\`\`xml\n${written}\n\`\`\`\n\nNothing was run.`,
    (written) => `To show it:\n~~~\n${written}\n~~~`,
    (written) => `To show it:\n\`\`\`\`\n\`\`\`\n${written}\n\`\`\`\n\`\`\`\`\nDone.`,
    (written) => `Left open:\n\`\`\`\n${written}`,
    (written) => `Write \`${written}\` to run it.`,
    (written) => `Write \`\` ${written} \`\` to run it.`,
    (written) => `Write "${written}" to run it.`,
    (written) => `“${written}” is the form.`,
    (written) => `(${written})`,
    (written) => `- ${written}`,
    (written) => `${written} is how a call looks.`,
    (written) => `As it was said:\n${written.replaceAll(/^/gm, '> ')}\nSo it was.`,
    (written) => `As code:\n\n${written.replaceAll(/^/gm, '    ')}\n\nSo it is.`,
    (written) => `<example>\n${written}\n</example>`,
    (written) => `<pre>${written}</pre>`,
    (written) => `<think>\nI could run\n${written}\n</think>\nBut I did not.`,
  );
  const oneLine = call.map(({ name, fields }) => ({
    name,
    fields: Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, value.replaceAll('\n', ' ')]),
    ),
  }));

  it('never runs what stands in a fence, in quotes or inside a sentence', () => {
    fc.assert(
      fc.property(oneLine, fc.constantFrom(...taggedForms, asJson('arguments')), shown, (one, form, show) => {
        expect(recovered(show(form(one)))).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('never runs what is shown after a call that is meant', () => {
    fc.assert(
      fc.property(oneLine, oneLine, fc.constantFrom(...taggedForms), shown, (meant, example, form, show) => {
        const content = `${enclosed(asJson('arguments'))(meant)}\n${show(form(example))}`;
        expect([null, JSON.stringify([meant])]).toContain(callsText(content));
      }),
    );
  });

  it('keeps what a call writes into a file as it is', () => {
    fc.assert(
      fc.property(oneLine, shown, (example, show) => {
        const text = show(enclosed(asJson('arguments'))(example));
        const meant = { name: 'write_file', fields: { text } };
        expect(recovered(enclosed(asJson('arguments'))(meant))).toEqual({ calls: [meant], content: '' });
      }),
    );
  });
});

function callsText(content: string): string | null {
  const result = recovered(content) as { calls: unknown } | null;
  return result === null ? null : JSON.stringify(result.calls);
}
