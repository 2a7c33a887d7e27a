/**
 * Brings arguments to the types that the schema wants, where their meaning is beyond doubt: numbers and
 * booleans written as text, arrays and objects written as JSON text, scalars where text is wanted. Pure.
 * What it cannot bring over it names; the rules beyond types are `validate-arguments.ts`.
 */
import {
  branchFor,
  itemsOf,
  propertiesOf,
  requiredOf,
  resolveReference,
  typesOf,
  type JsonSchema,
  type TypeName,
} from './json-schema.ts';
import { ExactNumber, endsInside, isRecord, parseValue, plainValue } from './parse-arguments.ts';

export interface Coercion {
  readonly value: unknown;
  /** Each `path: what is wrong`, without any of the value's own text. */
  readonly problems: readonly string[];
}

/** @param value a tree of JSON values and `ExactNumber`s; it is not changed. */
export function coerceArguments(value: Readonly<Record<string, unknown>>, schema: JsonSchema): Coercion {
  const problems: string[] = [];
  const coerced = coerceObject(value, resolveReference(schema, schema), { root: schema, path: '', problems });
  return { value: coerced, problems };
}

interface Place {
  readonly root: JsonSchema;
  readonly path: string;
  readonly problems: string[];
}

const deepest = 32;

function coerceValue(value: unknown, given: JsonSchema, place: Place): unknown {
  const schema = resolveReference(place.root, given);
  const types = typesOf(schema);
  if (types.size === 0 || place.path.split('.').length > deepest) return plainValue(value);
  if (value === null) return value;
  if (typeof value === 'string') return coerceText(value, schema, types, place);
  if (typeof value === 'boolean') return coerceBoolean(value, types, place);
  if (typeof value === 'number' || value instanceof ExactNumber) return coerceNumber(value, types, place);
  if (Array.isArray(value)) {
    if (!types.has('array')) return problem(place, `array where ${wanted(types)} is wanted`, value);
    const items = itemsOf(branchFor(schema, 'array'));
    return value.map((entry: unknown, index) =>
      items === null
        ? plainValue(entry)
        : coerceValue(entry, items, { ...place, path: `${place.path}[${index}]` }),
    );
  }
  if (!isRecord(value)) return value;
  if (!types.has('object')) return problem(place, `object where ${wanted(types)} is wanted`, value);
  return coerceObject(value, branchFor(schema, 'object'), place);
}

function coerceObject(
  value: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
  place: Place,
): Record<string, unknown> {
  const properties = propertiesOf(schema);
  const at = (name: string): Place => ({
    ...place,
    path: place.path === '' ? name : `${place.path}.${name}`,
  });
  for (const name of requiredOf(schema)) {
    if (!Object.hasOwn(value, name)) place.problems.push(`${at(name).path}: missing`);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, own === undefined ? plainValue(entry) : coerceValue(entry, own, at(name))];
    }),
  );
}

function coerceText(text: string, schema: JsonSchema, types: ReadonlySet<TypeName>, place: Place): unknown {
  if (types.has('string')) return text;
  const trimmed = text.trim();
  if (types.has('array') || types.has('object')) {
    const structured = structuredText(trimmed, schema, types, place);
    if (structured !== undefined) return structured.value;
  }
  if (types.has('null') && (trimmed === 'null' || trimmed === '')) return null;
  if (trimmed === '') return problem(place, 'empty text', text);
  if (types.has('integer') || types.has('number')) {
    const number = numberOf(trimmed);
    if (number !== null) return coerceNumber(number, types, place);
  }
  if (types.has('boolean')) {
    if (/^true$/i.test(trimmed)) return true;
    if (/^false$/i.test(trimmed)) return false;
  }
  return problem(place, misfit(types), text);
}

/** An array or object written as JSON text; undefined when the text is neither and other types are left. */
function structuredText(
  text: string,
  schema: JsonSchema,
  types: ReadonlySet<TypeName>,
  place: Place,
): { readonly value: unknown } | undefined {
  const written = text.startsWith('[') ? 'array' : text.startsWith('{') ? 'object' : null;
  if (written === null) return undefined;
  if (!types.has(written)) {
    const other = written === 'array' ? 'object' : 'array';
    return { value: problem(place, `${written} text where an ${other} is wanted`, text) };
  }
  const parsed = endsInside(text) ? undefined : parseValue(text);
  if (parsed === undefined) return { value: problem(place, `text is not a complete JSON ${written}`, text) };
  return { value: coerceValue(parsed, schema, place) };
}

function coerceNumber(value: number | ExactNumber, types: ReadonlySet<TypeName>, place: Place): unknown {
  const number = value instanceof ExactNumber ? Number(value.text) : value;
  if (types.has('integer') || types.has('number')) {
    if (!Number.isFinite(number)) return problem(place, 'not finite', number);
    if (Number.isInteger(number)) {
      const written = value instanceof ExactNumber ? value.text : String(value);
      const exact = Number.isSafeInteger(number) || !/^-?\d+$/.test(written);
      return exact ? number : problem(place, 'beyond exact range', number);
    }
    return types.has('number') ? number : problem(place, 'not an integer', number);
  }
  if (types.has('string')) return value instanceof ExactNumber ? value.text : String(value);
  if (types.has('boolean')) return problem(place, 'not a boolean', number);
  return problem(place, `number where ${wanted(types)} is wanted`, number);
}

function coerceBoolean(value: boolean, types: ReadonlySet<TypeName>, place: Place): unknown {
  if (types.has('boolean')) return value;
  if (types.has('string')) return String(value);
  return problem(place, `boolean where ${wanted(types)} is wanted`, value);
}

/** The number that a text spells; infinities and NaN are numbers too, to be refused as such. */
function numberOf(text: string): number | ExactNumber | null {
  if (/^[+-]?(?:inf(?:inity)?|nan)$/i.test(text)) return Number.NaN;
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return null;
  return /^-?\d+$/.test(text) ? new ExactNumber(text) : Number(text);
}

function misfit(types: ReadonlySet<TypeName>): string {
  if (types.has('integer')) return 'not an integer';
  if (types.has('number')) return 'not a number';
  if (types.has('boolean')) return 'not a boolean';
  if (types.has('array')) return 'text where an array is wanted';
  return `text where ${wanted(types)} is wanted`;
}

function wanted(types: ReadonlySet<TypeName>): string {
  const names = [...types].filter((type) => type !== 'null');
  return names.map((name) => (name === 'string' ? 'text' : name)).join(' or ') || 'null';
}

function problem(place: Place, text: string, value: unknown): unknown {
  place.problems.push(`${place.path}: ${text}`);
  return value;
}
