/** The public cases of arguments that are not quite what the tool wants, each with variants of its kind. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile, type CaseFile } from '../../case-file.ts';
import { outcomeOf, toolOf, type Json, type Outcome } from './case-tools.ts';

const jsonSchema = z.record(z.string(), z.unknown());
const givenSchema = z.object({
  tool: z.string().default(''),
  schema: jsonSchema.default({}),
  tools: z.record(z.string(), jsonSchema).default({}),
  cases: z.array(z.object({ tool: z.string().optional(), raw: z.string().nullable() })).min(1),
});
const wishSchema = z.object({ coerced: jsonSchema.optional(), reject: z.string().optional() });
const expectedSchema = z.object({
  cases: z.array(wishSchema.extend({ any_of: z.array(wishSchema).optional(), never: jsonSchema.optional() })),
});

interface Row {
  readonly raw: string | null | undefined;
  readonly tool: ReturnType<typeof toolOf>;
  readonly expected: z.infer<typeof expectedSchema>['cases'][number];
}

function rowsOf(from: CaseFile): Row[] {
  const given = givenSchema.parse(from.given);
  const { cases } = expectedSchema.parse(from.expect);
  expect(cases).toHaveLength(given.cases.length);
  return given.cases.map(({ tool = given.tool, raw }, index) => ({
    raw: raw === '<absent>' ? undefined : raw,
    tool: toolOf(tool, given.tools[tool] ?? given.schema),
    expected: cases[index] ?? {},
  }));
}

function meets(outcome: Outcome, wish: z.infer<typeof wishSchema>): boolean {
  if (wish.reject !== undefined) return outcome.refusal?.includes(wish.reject) === true;
  return JSON.stringify(outcome.coerced) === JSON.stringify(wish.coerced);
}

function checkRow({ raw, tool, expected }: Row): void {
  const outcome = outcomeOf(raw, tool);
  expect(outcome.coerced ?? 'refused').not.toEqual(expected.never ?? 'nothing');
  const wishes = expected.any_of ?? [expected];
  expect(wishes.some((wish) => meets(outcome, wish)) ? 'as expected' : outcome).toBe('as expected');
}

/** The integer that JSON's spelling of a number shows. */
function digitsOf(number: number): bigint {
  const [mantissa = '', exponent = '0'] = String(number).split('e+');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length);
}

const key = fc.stringMatching(/^[a-z]{1,8}$/);
const a04 = caseFile('A04');
const a06 = caseFile('A06');
const a09 = caseFile('A09');
const a10 = caseFile('A10');
const a11 = caseFile('A11');

describe(`${a04.id} ${a04.title}`, () => {
  it.each(rowsOf(a04))('$raw', checkRow);

  const list = toolOf('t', { type: 'object', properties: { list: { type: 'array' } }, required: ['list'] });
  const map = toolOf('t', { type: 'object', properties: { map: { type: 'object' } }, required: ['map'] });

  it('is read in any list and any object that was written as text', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.dictionary(key, fc.jsonValue()), (items, fields) => {
        const listText = JSON.stringify({ list: JSON.stringify(items) });
        const mapText = JSON.stringify({ map: JSON.stringify(fields) });
        expect(outcomeOf(listText, list).coerced).toEqual(JSON.parse(JSON.stringify({ list: items })));
        expect(outcomeOf(mapText, map).coerced).toEqual(JSON.parse(JSON.stringify({ map: fields })));
      }),
    );
  });

  it('is refused wherever such a text was cut', () => {
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 5 }), fc.nat(), (items, seed) => {
        const text = JSON.stringify(items);
        const cut = text.slice(0, 1 + (seed % (text.length - 1)));
        expect(outcomeOf(JSON.stringify({ list: cut }), list).refusal).toContain(
          'list: text is not a complete JSON array',
        );
      }),
    );
  });
});

describe(`${a06.id} ${a06.title}`, () => {
  it.each(rowsOf(a06))('$raw', checkRow);

  const numbers = toolOf('t', {
    type: 'object',
    properties: { whole: { type: 'integer' }, real: { type: 'number' }, flag: { type: 'boolean' } },
  });

  it('runs the tool with the numbers and booleans that the texts spell', () => {
    const real = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.maxSafeInteger(), real, fc.boolean(), (whole, number, flag) => {
        const texts = { whole: String(whole), real: String(number), flag: flag ? 'True' : 'false' };
        expect(outcomeOf(JSON.stringify(texts), numbers).coerced).toEqual({
          whole,
          real: number + 0,
          flag,
        });
      }),
    );
  });

  it('takes no other text for a number or a boolean', () => {
    const word = fc.string().filter((text) => !/^\s*(?:[+-]?[\d.]|true\s*$|false\s*$)/i.test(text));
    fc.assert(
      fc.property(word, fc.constantFrom('whole', 'real', 'flag'), (text, name) => {
        expect(outcomeOf(JSON.stringify({ [name]: text }), numbers).refusal).toMatch(new RegExp(`${name}: `));
      }),
    );
  });
});

describe(`${a09.id} ${a09.title}`, () => {
  it.each(rowsOf(a09))('$raw', checkRow);

  it('keeps every digit that a text field is given, or says that it does not take it', () => {
    const text = toolOf('t', { type: 'object', properties: { text: { type: 'string' } } });
    const literal = fc.stringMatching(/^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?$/);
    fc.assert(
      fc.property(literal, (number) => {
        expect(outcomeOf(`{"text":${number}}`, text).coerced).toEqual({ text: number });
      }),
    );
  });

  it.each([
    ['a number', { type: 'integer' }],
    ['anything', {}],
    ['one of several types', { anyOf: [{ type: 'integer' }, { type: 'null' }] }],
  ])('never rounds a long number where %s is wanted', (_what, schema) => {
    const tool = toolOf('t', { type: 'object', properties: { id: schema } });
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (id) => {
        const { coerced } = outcomeOf(`{"id":${id}}`, tool);
        const number = Number(id);
        const keeps = BigInt(number) === id || digitsOf(number) === id;
        expect(coerced).toEqual(keeps ? { id: number } : undefined);
      }),
    );
    expect(outcomeOf('{"id":9007199254740993}', tool).refusal).toContain('id: beyond exact range');
    expect(
      outcomeOf('{"id":{"deep":[9007199254740993]}}', toolOf('t', { type: 'object' })).refusal,
    ).toContain('beyond exact range');
  });
});

describe(`${a10.id} ${a10.title}`, () => {
  it.each(rowsOf(a10))('$tool.name with $raw', checkRow);

  it('is an empty call however the nothing is written', () => {
    const blank = fc.array(fc.constantFrom(' ', '\n', '\t')).map((parts) => parts.join(''));
    const nothing = fc.constantFrom('', 'null', '{}', '{ }', '"{}"');
    const ping = toolOf('ping', { type: 'object', properties: {} });
    fc.assert(
      fc.property(blank, nothing, blank, (before, text, after) => {
        expect(outcomeOf(before + text + after, ping)).toEqual({ coerced: {} });
      }),
    );
  });
});

describe(`${a11.id} ${a11.title}`, () => {
  it.each(rowsOf(a11))('$raw', checkRow);

  const forecast = toolOf('forecast', {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
    additionalProperties: false,
  });
  const wrapping = fc.constantFrom<(inner: unknown) => Json>(
    (inner) => ({ arguments: inner }),
    (inner) => ({ arguments: JSON.stringify(inner) }),
    (inner) => ({ name: 'forecast', arguments: inner }),
    (inner) => ({ type: 'function', function: inner }),
    (inner) => ({ parameters: inner }),
    (inner) => ({ forecast: inner }),
  );

  it('is taken out of any wrappings around it', () => {
    const given = fc.record({ city: fc.string(), days: fc.integer() });
    fc.assert(
      fc.property(given, fc.boolean(), fc.array(wrapping, { maxLength: 6 }), (value, framed, wrappings) => {
        const inmost = framed ? { type: 'object', properties: value } : value;
        const wrapped = wrappings.reduce<unknown>((inner, wrap) => wrap(inner), inmost);
        expect(outcomeOf(JSON.stringify(wrapped), forecast)).toEqual({ coerced: value });
      }),
    );
  });

  it('is left alone where the tool takes a field of that name, or any field', () => {
    const free: Json[] = [
      { type: 'object' },
      { type: 'object', additionalProperties: { type: 'object' } },
      { type: 'object', properties: { arguments: { type: 'object' }, input: { type: 'object' } } },
    ];
    for (const schema of free) {
      for (const value of [{ arguments: { a: 1 } }, { input: { a: 1 } }]) {
        expect(outcomeOf(JSON.stringify(value), toolOf('t', schema))).toEqual({ coerced: value });
      }
    }
  });

  it('says of wrapped text that stops in the middle that it was cut off', () => {
    expect(outcomeOf(JSON.stringify({ arguments: '{"city":"Be' }), forecast).refusal).toContain('cut off');
  });

  it('is refused without a word of what was sent', () => {
    expect(a11.expect['refusal_text_must_not_contain_the_raw_arguments']).toBe(true);
    const closed = toolOf('t', {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        m: { type: 'object', additionalProperties: { type: 'integer' } },
      },
      additionalProperties: false,
    });
    const word = fc.stringMatching(/^zebra[a-z]{3,9}$/);
    const shape = fc.constantFrom<(secret: string) => unknown>(
      (secret) => ({ a: secret }),
      (secret) => ({ [secret]: 1 }),
      (secret) => ({ m: { [secret]: 'x' } }),
      (secret) => ({ m: { [secret]: { [secret]: secret } } }),
      (secret) => [secret],
      (secret) => secret,
    );
    fc.assert(
      fc.property(word, shape, (secret, shaped) => {
        const { refusal } = outcomeOf(JSON.stringify(shaped(secret)), closed);
        expect(refusal).toMatch(/^Error: /);
        expect(refusal).not.toContain(secret);
      }),
    );
  });
});
