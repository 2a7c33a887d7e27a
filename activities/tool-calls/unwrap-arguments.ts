/**
 * Takes arguments out of the wrappings that models put around them: `{"arguments": {…}}`, a name beside
 * it, the tool's own name as the key, or the schema's frame around values. Pure. A key that the schema
 * itself knows is never taken for a wrapping, and nothing is where a tool takes any field it is given.
 */
import { propertiesOf, resolveSchema, type JsonSchema } from './json-schema.ts';
import { endsInside, isRecord, parseValue } from './parse-arguments.ts';

export type Unwrapped =
  | { readonly kind: 'arguments'; readonly value: Readonly<Record<string, unknown>> }
  /** The model sent the schema back instead of values. */
  | { readonly kind: 'schema-echo' }
  /** What was wrapped, as text, stops in the middle. */
  | { readonly kind: 'cut-off' };

const wrapperKeys = [
  'arguments',
  'parameters',
  'args',
  'input',
  'params',
  'kwargs',
  'tool_input',
  'function',
];
const besideWrapper = new Set(['name', 'type', 'function', 'id', 'tool', 'tool_name', 'call_id']);
const schemaKeys = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  '$schema',
  'title',
  'description',
]);
/** Each refusal may have taught the model one wrapping more. */
const mostWrappings = 8;

/** @param toolNames the names the model may know the tool by. */
export function unwrapArguments(
  given: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
  toolNames: readonly string[],
): Unwrapped {
  const resolved = resolveSchema(schema, schema);
  const known = propertiesOf(resolved);
  if (takesAnything(resolved)) return { kind: 'arguments', value: given };
  let value = given;
  for (let wrappings = 0; wrappings < mostWrappings; wrappings += 1) {
    const keys = Object.keys(value);
    const wrapper = wrapperOf(keys, known, toolNames);
    if (wrapper !== null) {
      const wrapped = value[wrapper];
      const inner = structured(wrapped);
      if (inner !== null) value = inner;
      else if (typeof wrapped === 'string' && wrapped.trim().startsWith('{') && endsInside(wrapped))
        return { kind: 'cut-off' };
      else break;
    } else if (isSchemaFrame(value, keys, known)) {
      const properties = structured(value['properties']) ?? {};
      const inner = Object.values(properties);
      if (inner.length > 0 && inner.every((entry) => isRecord(entry) && 'type' in entry))
        return { kind: 'schema-echo' };
      value = properties;
    } else break;
  }
  return { kind: 'arguments', value };
}

/** A free-form object: a field called `input` may well be meant. */
function takesAnything(schema: JsonSchema): boolean {
  const named = Object.keys(propertiesOf(schema)).length;
  const others = schema['additionalProperties'];
  return named === 0 && (schema['properties'] === undefined || others === true || isRecord(others));
}

/** The one key around everything else; null when the object is no wrapping. */
function wrapperOf(
  keys: readonly string[],
  known: Readonly<Record<string, unknown>>,
  toolNames: readonly string[],
): string | null {
  if (keys.some((key) => Object.hasOwn(known, key))) return null;
  const wrapper = keys.find((key) => wrapperKeys.includes(key) || toolNames.includes(key));
  return wrapper !== undefined && keys.every((key) => key === wrapper || besideWrapper.has(key))
    ? wrapper
    : null;
}

function isSchemaFrame(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  known: Readonly<Record<string, unknown>>,
): boolean {
  return (
    value['type'] === 'object' &&
    isRecord(value['properties']) &&
    !Object.hasOwn(known, 'properties') &&
    keys.every((key) => schemaKeys.has(key))
  );
}

function structured(value: unknown): Record<string, unknown> | null {
  if (isRecord(value)) return value;
  const parsed = typeof value === 'string' && value.trim().startsWith('{') ? parseValue(value) : null;
  return isRecord(parsed) ? parsed : null;
}
