/**
 * Takes arguments out of the wrappings that models put around them: `{"arguments": {…}}`, a name beside
 * it, the tool's own name as the key, or the schema's frame around values. Pure. A key that the schema
 * itself knows is never taken for a wrapping.
 */
import { propertiesOf, type JsonSchema } from './json-schema.ts';
import { isRecord, parseValue } from './parse-arguments.ts';

export type Unwrapped =
  | { readonly kind: 'arguments'; readonly value: Readonly<Record<string, unknown>> }
  /** The model sent the schema back instead of values. */
  | { readonly kind: 'schema-echo' };

const wrapperKeys = ['arguments', 'parameters', 'args', 'input'];
const besideWrapper = new Set(['name', 'type', 'function', 'id', 'tool']);
const schemaKeys = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  '$schema',
  'title',
  'description',
]);

/** @param toolNames the names the model may know the tool by. */
export function unwrapArguments(
  value: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
  toolNames: readonly string[],
): Unwrapped {
  const known = propertiesOf(schema);
  const keys = Object.keys(value);
  const wrapper = keys.find(
    (key) => (wrapperKeys.includes(key) || toolNames.includes(key)) && !Object.hasOwn(known, key),
  );
  if (wrapper !== undefined && keys.every((key) => key === wrapper || besideWrapper.has(key))) {
    const inner = structured(value[wrapper]);
    if (inner !== null && !keys.some((key) => key !== wrapper && Object.hasOwn(known, key))) {
      return { kind: 'arguments', value: inner };
    }
  }
  if (isSchemaFrame(value, keys, known)) {
    const properties = structured(value['properties']) ?? {};
    const inner = Object.values(properties);
    if (inner.length > 0 && inner.every((entry) => isRecord(entry) && 'type' in entry))
      return { kind: 'schema-echo' };
    return { kind: 'arguments', value: properties };
  }
  return { kind: 'arguments', value };
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
