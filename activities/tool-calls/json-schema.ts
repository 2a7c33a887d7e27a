/** Reading the few parts of a JSON schema that coercion and shapes need; lenient, since servers write it. Pure. */
import { isRecord } from './parse-arguments.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type TypeName = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null';
const typeNames: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'array',
  'object',
  'null',
]);

/** Types that the schema names, its alternatives' included; empty: it does not say. */
export function typesOf(schema: JsonSchema, depth = 0): ReadonlySet<TypeName> {
  const types = new Set<TypeName>();
  const named = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
  for (const name of named) if (typeNames.has(name)) types.add(name as TypeName);
  if (types.size > 0 || depth > 4) return types;
  for (const branch of branchesOf(schema)) for (const name of typesOf(branch, depth + 1)) types.add(name);
  if (types.size === 0 && isRecord(schema['properties'])) types.add('object');
  return types;
}

export function branchesOf(schema: JsonSchema): readonly JsonSchema[] {
  return ['anyOf', 'oneOf'].flatMap((key) => {
    const branches = schema[key];
    return Array.isArray(branches) ? branches.filter(isRecord) : [];
  });
}

export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema['properties'];
  if (!isRecord(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isRecord(entry[1])),
  );
}

export function requiredOf(schema: JsonSchema): readonly string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** The schema for the items of an array; null when it says nothing of them. */
export function itemsOf(schema: JsonSchema): JsonSchema | null {
  return isRecord(schema['items']) ? schema['items'] : null;
}

/** The branch of the schema for values of `type`, or the schema itself. */
export function branchFor(schema: JsonSchema, type: TypeName): JsonSchema {
  return branchesOf(schema).find((branch) => typesOf(branch).has(type)) ?? schema;
}

/** The target of a local `$ref`, else the schema itself. */
export function resolveReference(root: JsonSchema, schema: JsonSchema): JsonSchema {
  let current = schema;
  for (let hops = 0; hops < 8; hops += 1) {
    const reference = current['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return current;
    let target: unknown = root;
    for (const part of reference.slice(2).split('/')) {
      target = isRecord(target) ? target[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
    }
    if (!isRecord(target)) return current;
    current = target;
  }
  return current;
}
