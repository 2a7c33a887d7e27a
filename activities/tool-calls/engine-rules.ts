/**
 * Which rules of a JSON schema the grammar builders of all engines take: llama.cpp, xgrammar, outlines and
 * guidance each refuse others, and one that is refused fails the whole request. Pure. A rule that goes is
 * told to the model in words, since the call is checked against it all the same.
 */
import type { JsonSchema } from './json-schema.ts';

/** Repetitions above this make grammars that builders refuse (llama.cpp: 2,000). */
const mostRepetitions = 2_000;
const longestPattern = 200;
const longestNote = 200;
const knownFormats: ReadonlySet<unknown> = new Set(['date', 'time', 'date-time', 'uuid']);
const repetitions = ['minLength', 'maxLength', 'minItems', 'maxItems'];
const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
/** Never sent: some builder refuses each of them. */
const told = [
  'multipleOf',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'contains',
  'minContains',
  'maxContains',
  'propertyNames',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
  'not',
  'if',
  'then',
  'else',
];

/** The annotations and rules of one schema, without its structure, in a form that every builder takes. */
export function engineRules(schema: JsonSchema): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const notes: string[] = [];
  for (const key of ['title', 'description']) if (typeof schema[key] === 'string') kept[key] = schema[key];
  if (schema['default'] !== undefined) kept['default'] = schema['default'];
  if (Array.isArray(schema['examples'])) kept['examples'] = schema['examples'];
  const sort = (key: string, fits: boolean): void => {
    const value = schema[key];
    if (value === undefined) return;
    if (fits) kept[key] = value;
    else notes.push(`${key} ${noteText(value)}`);
  };
  sort('pattern', isPlainPattern(schema['pattern']));
  sort('format', knownFormats.has(schema['format']));
  for (const key of repetitions) sort(key, isCount(schema[key]));
  for (const key of bounds) sort(key, Number.isSafeInteger(schema[key]));
  for (const key of told) sort(key, false);
  if (notes.length === 0) return kept;
  const description = typeof kept['description'] === 'string' ? `${kept['description']} ` : '';
  return { ...kept, description: `${description}(${notes.join('; ')})` };
}

/**
 * Whether all builders read the pattern, and alike: anchored at both ends, and made of characters,
 * classes, groups, alternatives and small repetitions.
 */
export function isPlainPattern(pattern: unknown): boolean {
  if (typeof pattern !== 'string' || pattern.length > longestPattern) return false;
  if (!/^\^[\s\S]*[^\\]\$$/.test(pattern) && pattern !== '^$') return false;
  const body = pattern.slice(1, -1);
  // Escapes of one character aside, nothing with a backslash is read alike everywhere.
  const bare = body.replaceAll(/\\[dws.+*?()[\]{}|/$^-]/g, 'a').replaceAll(/\[\^?[^[\]\\]+\]/g, 'a');
  if (/\\|\(\?|[[\]^$]|[*+?}][*+?]/.test(bare)) return false;
  const sizes = [...bare.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap((match) => [match[1], match[2] ?? '0']);
  if (sizes.some((size) => Number(size) > 100)) return false;
  if (/[{}]/.test(bare.replaceAll(/\{\d+(?:,\d*)?\}/g, ''))) return false;
  return !hasOuterAlternative(bare) && isRegExp(pattern);
}

/** `^a|b$` is anchored at one end of each alternative only. */
function hasOuterAlternative(bare: string): boolean {
  let depth = 0;
  for (const character of bare) {
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === '|' && depth === 0) return true;
  }
  return depth !== 0;
}

function isRegExp(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').source !== '';
  } catch {
    return false;
  }
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= mostRepetitions;
}

function noteText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > longestNote ? `${text.slice(0, longestNote)}…` : text;
}
