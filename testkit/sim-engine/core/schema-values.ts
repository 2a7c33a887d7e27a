/**
 * Values that fit a JSON schema, drawn from a seed: what a model would fill in. Knows the keywords that
 * tool schemas use (type, enum, const, default, properties, required, items, anyOf, oneOf, allOf, bounds,
 * $ref into $defs); formats and patterns are not honoured.
 */
import type { JsonSchema } from './conversation.ts';
import { nextInteger, nextRandom, pick, type Generator } from './random.ts';

export interface ValueSource {
  readonly generator: Generator;
  /** Words that texts are made of. */
  readonly words: readonly string[];
  /** Fill in optional properties too. */
  readonly everyProperty: boolean;
  /** The schema that `$ref` points into. */
  readonly root: JsonSchema;
}

const deepest = 6;

/** A value for `schema`; null where the schema nests deeper than six levels. */
export function valueFor(schema: JsonSchema, source: ValueSource, depth = 0): unknown {
  if (depth > deepest) return null;
  const fixed = fixedValue(schema, source, depth);
  if (fixed !== undefined) return fixed;
  switch (typeOf(schema)) {
    case 'object':
      return objectFor(schema, source, depth);
    case 'array': {
      const count = nextInteger(source.generator, numberOr(schema['minItems'], 1), 2);
      const items = asSchema(schema['items']);
      return Array.from({ length: count }, () => valueFor(items, source, depth + 1));
    }
    case 'integer':
      return Math.ceil(numberFor(schema, source.generator));
    case 'number':
      return Math.round(numberFor(schema, source.generator) * 100) / 100;
    case 'boolean':
      return nextRandom(source.generator) < 0.5;
    case 'null':
      return null;
    default:
      return textFor(schema, source);
  }
}

function fixedValue(schema: JsonSchema, source: ValueSource, depth: number): unknown {
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return pick(source.generator, schema['enum'] as unknown[]);
  for (const name of ['anyOf', 'oneOf', 'allOf']) {
    const options = schema[name];
    if (Array.isArray(options) && options.length > 0)
      return valueFor(asSchema(options[0]), source, depth + 1);
  }
  if (typeof schema['$ref'] === 'string') {
    return valueFor(lookUp(source.root, schema['$ref']), source, depth + 1);
  }
  return undefined;
}

function lookUp(root: JsonSchema, reference: string): JsonSchema {
  return reference
    .split('/')
    .slice(1)
    .reduce((schema, part) => asSchema(schema[part]), root);
}

function asSchema(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : {};
}

function typeOf(schema: JsonSchema): string {
  const type: unknown = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (typeof type === 'string') return type;
  return 'properties' in schema ? 'object' : 'string';
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

function objectFor(schema: JsonSchema, source: ValueSource, depth: number): Record<string, unknown> {
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  const value: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(asSchema(schema['properties']))) {
    const wanted = required.includes(name) || source.everyProperty || nextRandom(source.generator) < 0.3;
    if (wanted) value[name] = valueFor(asSchema(property), source, depth + 1);
  }
  return value;
}

function numberFor(schema: JsonSchema, generator: Generator): number {
  const lowest = numberOr(schema['minimum'], numberOr(schema['exclusiveMinimum'], 0) + 1);
  const highest = Math.min(numberOr(schema['maximum'], lowest + 9), lowest + 9);
  return lowest + nextRandom(generator) * Math.max(0, highest - lowest);
}

function textFor(schema: JsonSchema, { generator, words }: ValueSource): string {
  const start = nextInteger(generator, 0, Math.max(0, words.length - 3));
  const text = words.slice(start, start + 3).join(' ') || 'something';
  const shortest = numberOr(schema['minLength'], 0);
  return text.padEnd(shortest, '.').slice(0, numberOr(schema['maxLength'], 200));
}
