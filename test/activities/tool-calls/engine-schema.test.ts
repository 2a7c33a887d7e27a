import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isPlainPattern } from '../../../activities/tool-calls/engine-rules.ts';
import { engineSchema } from '../../../activities/tool-calls/engine-schema.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import { caseFile } from '../../case-file.ts';
import { outcomeOf, toolOf } from './case-tools.ts';
import { grammarFaults, refusals } from './strict-grammar.ts';
import { fittingCall } from './typed-values.ts';

const a20 = caseFile('A20');
const jsonSchema = z.record(z.string(), z.unknown());
const given = z
  .object({
    tools: z.array(z.object({ name: z.string(), parameters: jsonSchema })),
    strict_stub_refuses: z.array(z.string()),
    arguments_to_check_against_original: z.array(z.object({ tool: z.string(), raw: z.string() })),
  })
  .parse(a20.given);
const expected = z
  .object({
    arguments: z.array(z.object({ reject: z.string().optional(), coerced: jsonSchema.optional() })),
  })
  .parse(a20.expect);
const validate = createValidator();
const runs = 100;

describe(`${a20.id} ${a20.title}`, () => {
  it('is judged by a builder that refuses what the case names', () => {
    expect(Object.keys(refusals)).toEqual(given.strict_stub_refuses);
    const refused = given.tools.filter(({ parameters }) => grammarFaults(parameters).length > 0);
    expect(refused.map(({ name }) => name)).toEqual(given.tools.map(({ name }) => name));
  });

  it.each(given.tools)('$name is mended', ({ parameters }) => {
    const before = structuredClone(parameters);
    expect(grammarFaults(engineSchema(parameters))).toEqual([]);
    expect(parameters).toEqual(before);
  });

  it.each(
    given.arguments_to_check_against_original.map((row, index) => ({
      ...row,
      wish: expected.arguments[index],
    })),
  )('calls of $tool are checked against its own schema: $raw', ({ tool: name, raw, wish }) => {
    const parameters = given.tools.find((tool) => tool.name === name)?.parameters ?? {};
    const outcome = outcomeOf(raw, toolOf(name, parameters));
    expect(outcome.coerced).toEqual(wish?.coerced);
    expect(outcome.refusal ?? '').toContain(wish?.reject ?? '');
  });

  it('never takes a value away that the tool takes, and always fits the builder', () => {
    fc.assert(
      fc.property(fittingCall, ({ schema, value }) => {
        const mended = engineSchema(schema);
        expect(grammarFaults(mended)).toEqual([]);
        expect(validate(value, mended)).toEqual([]);
      }),
      { numRuns: runs },
    );
  }, 60_000);

  it('is the same each time, and stays as it is when it is mended again', () => {
    fc.assert(
      fc.property(fittingCall, ({ schema }) => {
        expect(engineSchema(structuredClone(schema))).toEqual(engineSchema(schema));
        expect(grammarFaults(engineSchema(engineSchema(schema)))).toEqual([]);
      }),
    );
  });
});

describe('a schema for engines', () => {
  it('tells in words what it leaves out', () => {
    const { properties } = engineSchema({
      type: 'object',
      properties: {
        ns: { type: 'string', description: 'Namespace.', pattern: '[a-z]+', maxLength: 10_000 },
        n: { type: 'integer', minimum: 1, multipleOf: 5 },
      },
    });
    expect(properties).toEqual({
      ns: { type: 'string', description: 'Namespace. (pattern [a-z]+; maxLength 10000)' },
      n: { type: 'integer', minimum: 1, description: '(multipleOf 5)' },
    });
  });

  it('leaves one alone that every engine takes', () => {
    const plain = {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'A town.', pattern: '^[A-Z][a-z]+$', maxLength: 80 },
        days: { type: 'integer', minimum: 1, maximum: 14, default: 3 },
        units: { type: 'string', enum: ['c', 'f'] },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 5 },
        opts: { type: 'object', properties: { deep: { type: 'boolean' } }, additionalProperties: false },
      },
      required: ['city'],
      additionalProperties: false,
    };
    expect(engineSchema(plain)).toEqual(plain);
  });

  it('shows the fields of alternatives of the whole', () => {
    expect(
      engineSchema({
        anyOf: [
          { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
          { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        ],
      }),
    ).toEqual({
      type: 'object',
      description: '(needs id; or name)',
      properties: { id: { type: 'integer' }, name: { type: 'string' } },
    });
  });

  it('keeps a recursive schema recursive, and its size within bounds', () => {
    const tree = {
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' } },
      $defs: {
        node: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/node' } } } },
      },
    };
    const mended = engineSchema(tree);
    expect(mended['properties']).toEqual({ root: { type: 'object', $ref: '#/$defs/node' } });
    expect(validate({ root: { kids: [{ kids: [] }] } }, mended)).toEqual([]);
    expect(validate({ root: { kids: [{ kids: 1 }] } }, mended)).not.toEqual([]);
    const wide = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`f${n}`, { allOf: [{ $ref: '#' }, { description: 'again' }] }]),
    );
    expect(JSON.stringify(engineSchema({ type: 'object', properties: wide })).length).toBeLessThan(500_000);
  });

  it.each([
    {},
    { type: 'string' },
    { type: 'object', properties: null },
    { $ref: 'https://example.invalid/x' },
    { properties: { a: true, b: false, c: 5 } },
    { type: 'object', required: ['lost'] },
  ])('makes something usable of %j', (odd) => {
    const mended = engineSchema(odd);
    expect(mended['type']).toBe('object');
    expect(grammarFaults(mended)).toEqual([]);
  });

  it.each([
    ['^[a-z0-9-]+$', true],
    ['^(foo|bar)\\d{1,3}$', true],
    ['^\\$\\.$', true],
    ['[a-z]+', false],
    ['^a|b$', false],
    ['^(?!x)[a-z]+$', false],
    ['^(?:a)+$', false],
    ['^(?<n>a)$', false],
    ['^a\\$', false],
    ['^\\p{L}+$', false],
    ['^[a-z]{1,5000}$', false],
    ['^a+?$', false],
    ['^\\bword\\b$', false],
    ['^(a$', false],
    ['^$', true],
  ])('takes the pattern %s as plain: %s', (pattern, plain) => {
    expect(isPlainPattern(pattern)).toBe(plain);
  });
});
