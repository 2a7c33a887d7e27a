/**
 * Brings arguments to the types that the schema wants, where their meaning is beyond doubt: numbers and
 * booleans written as text, arrays and objects written as JSON text, scalars where text is wanted. Pure.
 * A value that fits stays as it is. What it cannot bring over it names; the rules beyond types and fixed
 * values are `validate-arguments.ts`.
 */
import { coerceNumber, coerceText, misfit, wanted } from './coerce-scalars.ts';
import {
  branchesOf,
  choicesOf,
  itemOf,
  mergeSchemas,
  propertiesOf,
  requiredOf,
  resolveSchema,
  typesOf,
  type JsonSchema,
  type TypeName,
} from './json-schema.ts';
import { ExactNumber, isRecord, plainValue } from './parse-arguments.ts';

export interface Coercion {
  readonly value: unknown;
  /** Each `path: what is wrong`, without any of the value's own text. */
  readonly problems: readonly string[];
}

/** @param value a tree of JSON values and `ExactNumber`s; it is not changed. */
export function coerceArguments(value: Readonly<Record<string, unknown>>, schema: JsonSchema): Coercion {
  const found: Found = { problems: [], changes: 0 };
  const place = { root: schema, path: '', depth: 0, steps: { left: mostSteps }, found };
  const asObject = { ...schema, type: 'object' };
  return { value: coerceValue(value, asObject, place), problems: found.problems };
}

interface Found {
  problems: string[];
  /** Values that were brought to another type. */
  changes: number;
}

interface Place {
  readonly root: JsonSchema;
  readonly path: string;
  readonly depth: number;
  /** Alternatives inside alternatives multiply: beyond this many steps values stay as they are. */
  readonly steps: { left: number };
  readonly found: Found;
}

const deepest = 32;
const mostSteps = 20_000;
const mostBranches = 16;

function coerceValue(value: unknown, given: JsonSchema, place: Place): unknown {
  place.steps.left -= 1;
  if (place.depth > deepest || place.steps.left < 0) return plainValue(value);
  const schema = resolveSchema(place.root, given);
  const branches = branchesOf(schema);
  if (branches.length > 0) return coerceToBranch(value, schema, branches.slice(0, mostBranches), place);
  const choices = choicesOf(schema);
  const types = typesOf(place.root, schema);
  if (choices === null) return coerceToType(value, schema, types, place);
  const before = place.found.problems.length;
  const coerced = choices.some((choice) => sameValue(choice, value))
    ? value
    : coerceToType(value, schema, types, place);
  if (place.found.problems.length > before || choices.some((choice) => sameValue(choice, coerced))) {
    return coerced;
  }
  return problem(place, choiceProblem(schema, choices), coerced);
}

/** The first alternative that takes the value as it is, else the first that takes it at all. */
function coerceToBranch(
  value: unknown,
  schema: JsonSchema,
  branches: readonly JsonSchema[],
  place: Place,
): unknown {
  const { anyOf: _anyOf, oneOf: _oneOf, ...shared } = schema;
  let best: { readonly value: unknown; readonly found: Found } | null = null;
  for (const branch of branches) {
    const found: Found = { problems: [], changes: 0 };
    const merged = mergeSchemas(shared, resolveSchema(place.root, branch));
    const coerced = coerceValue(value, merged, { ...place, depth: place.depth + 1, found });
    if (best === null || rank(found) < rank(best.found)) best = { value: coerced, found };
    if (rank(found) === 0) break;
  }
  if (best === null) return plainValue(value);
  place.found.problems.push(...best.found.problems);
  place.found.changes += best.found.changes;
  return best.value;
}

/** 0: it fits; below 1: it can be made to fit; else by the number of problems. */
function rank({ problems, changes }: Found): number {
  return problems.length > 0 ? problems.length : Math.min(changes, 1) / 2;
}

function coerceToType(
  value: unknown,
  schema: JsonSchema,
  types: ReadonlySet<TypeName>,
  place: Place,
): unknown {
  if (types.size === 0) return untyped(value, place);
  if (value === null) return types.has('null') ? null : problem(place, misfit('null', types), null);
  if (Array.isArray(value)) {
    if (!types.has('array')) return problem(place, `array where ${wanted(types)} is wanted`, value);
    return value.map((entry: unknown, index) => {
      const at = inside(place, `[${index}]`);
      const item = itemOf(schema, index);
      return item === null ? untyped(entry, at) : coerceValue(entry, item, at);
    });
  }
  if (isRecord(value)) {
    if (!types.has('object')) return problem(place, `object where ${wanted(types)} is wanted`, value);
    return coerceObject(value, schema, place);
  }
  const scalar = coerceScalar(value, types);
  switch (scalar.kind) {
    case 'problem':
      return problem(place, scalar.text, plainValue(value));
    case 'structure':
      place.found.changes += 1;
      return coerceToType(scalar.value, schema, types, place);
    case 'value':
      if (scalar.value !== plainValue(value)) place.found.changes += 1;
      return scalar.value;
  }
}

function coerceScalar(value: unknown, types: ReadonlySet<TypeName>): ReturnType<typeof coerceText> {
  if (typeof value === 'string') return coerceText(value, types);
  if (typeof value === 'number' || value instanceof ExactNumber) return coerceNumber(value, types);
  if (types.has('boolean')) return { kind: 'value', value: value === true };
  if (types.has('string')) return { kind: 'value', value: String(value) };
  return { kind: 'problem', text: misfit('boolean', types) };
}

function coerceObject(
  value: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
  place: Place,
): Record<string, unknown> {
  const properties = propertiesOf(schema);
  for (const name of requiredOf(schema)) {
    if (!Object.hasOwn(value, name)) problem(inside(place, name), 'missing', null);
  }
  // Which fields are additional beside patterns is the validator's to say.
  const others = isRecord(schema['patternProperties']) ? null : schema['additionalProperties'];
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => {
      if (Object.hasOwn(properties, name))
        return [name, coerceValue(entry, properties[name] ?? {}, inside(place, name))];
      // The name is the model's own, and no refusal repeats what the model wrote.
      const at = inside(place, '*');
      return [name, isRecord(others) ? coerceValue(entry, others, at) : untyped(entry, at)];
    }),
  );
}

/** A value of which the schema says nothing: as it is, unless that would round it. */
function untyped(value: unknown, place: Place): unknown {
  if (value instanceof ExactNumber) {
    const number = coerceNumber(value, new Set(['number']));
    return number.kind === 'value' ? number.value : problem(place, 'beyond exact range', plainValue(value));
  }
  if (Array.isArray(value)) {
    return value.map((entry: unknown, index) => untyped(entry, inside(place, `[${index}]`)));
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, untyped(entry, inside(place, '*'))]),
  );
}

function inside(place: Place, name: string): Place {
  const separator = place.path === '' || name.startsWith('[') ? '' : '.';
  return { ...place, path: `${place.path}${separator}${name}`, depth: place.depth + 1 };
}

function sameValue(choice: unknown, value: unknown): boolean {
  if (value instanceof ExactNumber) return false;
  return choice === value || (isStructure(choice) && JSON.stringify(choice) === JSON.stringify(value));
}

function isStructure(value: unknown): boolean {
  return isRecord(value) || Array.isArray(value);
}

function choiceProblem(schema: JsonSchema, choices: readonly unknown[]): string {
  if (!Array.isArray(schema['enum'])) return `only ${choiceText(choices[0])} fits`;
  return `must be one of ${choices.map(choiceText).join(', ').slice(0, 200)}`;
}

function choiceText(choice: unknown): string {
  return typeof choice === 'string' ? `'${choice.slice(0, 100)}'` : JSON.stringify(choice);
}

function problem(place: Place, text: string, value: unknown): unknown {
  place.found.problems.push(place.path === '' ? text : `${place.path}: ${text}`);
  return value;
}
