/** Random schemas, each with a value that fits it. */
import * as fc from 'fast-check';

export interface Fitting {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

const leaf: fc.Arbitrary<Fitting> = fc.oneof(
  fc.string().map((value): Fitting => ({ schema: { type: 'string' }, value })),
  fc
    .constantFrom('5', 'true', 'null', '[1]', '{"a":1}', '')
    .map((value): Fitting => ({ schema: { type: 'string' }, value })),
  fc.integer().map((value): Fitting => ({ schema: { type: 'integer' }, value })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value): Fitting => ({ schema: { type: 'number' }, value: value + 0 })),
  fc.boolean().map((value): Fitting => ({ schema: { type: 'boolean' }, value })),
  fc.constant<Fitting>({ schema: { type: ['integer', 'null'] }, value: null }),
  fc.constant<Fitting>({ schema: { type: 'string', nullable: true }, value: null }),
  fc
    .jsonValue()
    .map((value): Fitting => ({ schema: {}, value: JSON.parse(JSON.stringify(value)) as unknown })),
  fc.constantFrom('a', 1, '1', true, null).map((value): Fitting => ({ schema: { const: value }, value })),
  fc
    .constantFrom('a', 1, '1', true, null)
    .map((value): Fitting => ({ schema: { enum: ['a', 1, '1', true, null] }, value })),
  fc
    .stringMatching(/^[a-z]{1,5}$/)
    .map((value): Fitting => ({ schema: { type: 'string', pattern: '[a-z]+', maxLength: 9_999 }, value })),
  fc
    .stringMatching(/^[a-z]{1,5}$/)
    .map((value): Fitting => ({ schema: { type: 'string', pattern: '^(?:[a-z])+$', minLength: 1 }, value })),
);

const name = fc.constantFrom('a', 'b', 'kind', 'x-y', 'type');

function objectOf(inner: fc.Arbitrary<Fitting>): fc.Arbitrary<Fitting> {
  const closing = fc.constantFrom<Readonly<Record<string, unknown>>>({}, { additionalProperties: false });
  return fc.tuple(fc.dictionary(name, inner, { maxKeys: 3 }), closing).map(([fields, rest]) => ({
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.schema])),
      required: Object.keys(fields),
      ...rest,
    },
    value: Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.value])),
  }));
}

function moreOf(inner: fc.Arbitrary<Fitting>): fc.Arbitrary<Fitting> {
  return fc.oneof(
    objectOf(inner),
    inner.map(({ schema, value }) => ({ schema: { type: 'array', items: schema }, value: [value, value] })),
    fc.tuple(inner, inner).map(([first, second]) => ({
      schema: { type: 'array', prefixItems: [first.schema, second.schema] },
      value: [first.value, second.value],
    })),
    // The value fits the last alternative, and possibly an earlier one too.
    fc.array(inner, { minLength: 1, maxLength: 3 }).map((forms) => ({
      schema: { anyOf: forms.map(({ schema }) => schema) },
      value: forms.at(-1)?.value,
    })),
    inner.map(({ schema, value }) => ({ schema: { allOf: [schema, { description: 'more' }] }, value })),
    inner.map(({ schema, value }) => ({
      schema: { type: 'object', additionalProperties: schema },
      value: { any: value },
    })),
  );
}

const value: fc.Arbitrary<Fitting> = fc.letrec<{ node: Fitting }>((tie) => ({
  node: fc.oneof({ maxDepth: 3, withCrossShrink: true }, leaf, moreOf(tie('node'))),
})).node;

/** A tool's schema with arguments that fit it; some of its parts stand in `$defs`. */
export const fittingCall: fc.Arbitrary<{
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: Readonly<Record<string, unknown>>;
}> = fc.tuple(value, value, fc.boolean()).map(([first, second, closed]) => ({
  schema: {
    type: 'object',
    properties: {
      first: first.schema,
      second: { anyOf: [{ $ref: '#/$defs/second' }, { type: 'null' }] },
      third: { $ref: '#/properties/first' },
      tree: { $ref: '#/$defs/tree' },
    },
    required: ['first'],
    ...(closed ? { additionalProperties: false } : {}),
    $defs: {
      second: second.schema,
      tree: {
        type: 'object',
        properties: { leaf: first.schema, next: { $ref: '#/$defs/tree' } },
        additionalProperties: false,
      },
    },
  },
  value: {
    first: first.value,
    second: second.value,
    third: first.value,
    tree: { leaf: first.value, next: { next: { leaf: first.value } } },
  },
}));
