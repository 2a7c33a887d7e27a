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

/** Hops of references, and levels of `allOf` and of alternatives, that are followed: they multiply. */
const mostHops = 8;
const deepestMerge = 3;
const deepestBranch = 4;

/**
 * The schema as one flat object: its local reference followed and its `allOf` merged in. What it says
 * itself goes before what it refers to.
 */
export function resolveSchema(root: JsonSchema, given: JsonSchema, depth = 0): JsonSchema {
  let schema = given;
  for (let hops = 0; hops < mostHops && typeof schema['$ref'] === 'string'; hops += 1) {
    const { $ref: reference, ...own } = schema;
    const target = referenceTarget(root, reference);
    if (target === null) break;
    schema = mergeSchemas(own, target);
  }
  const parts = schema['allOf'];
  if (!Array.isArray(parts) || depth >= deepestMerge) return schema;
  const { allOf: _merged, ...own } = schema;
  return parts
    .filter(isRecord)
    .reduce((merged, part) => mergeSchemas(merged, resolveSchema(root, part, depth + 1)), own as JsonSchema);
}

/** Both schemas in one; of a keyword that both have, the first's is kept. */
export function mergeSchemas(first: JsonSchema, second: JsonSchema): JsonSchema {
  const merged: Record<string, unknown> = { ...second, ...first };
  if (isRecord(first['properties']) && isRecord(second['properties'])) {
    merged['properties'] = { ...second['properties'], ...first['properties'] };
  }
  const required = [...requiredOf(first), ...requiredOf(second)];
  if (required.length > 0) merged['required'] = [...new Set(required)];
  return merged;
}

/** What a local reference points to; null when that is nothing, or not in this schema. */
export function referenceTarget(root: JsonSchema, reference: string): JsonSchema | null {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return null;
  let target: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = decodePointer(part);
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return null;
    target = (target as Record<string, unknown>)[key];
  }
  return isRecord(target) ? target : null;
}

/** One part of a JSON pointer as the key that it stands for. */
export function decodePointer(part: string): string {
  let key = part;
  try {
    key = decodeURIComponent(part);
  } catch {
    // A bare percent sign stands for itself.
  }
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}

/**
 * Types that the schema names, its alternatives' included; empty: it does not say.
 * @param schema resolved.
 */
export function typesOf(root: JsonSchema, schema: JsonSchema, depth = 0): ReadonlySet<TypeName> {
  const types = new Set<TypeName>();
  const named = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
  for (const name of named) if (typeNames.has(name)) types.add(name as TypeName);
  if (types.size > 0 && schema['nullable'] === true) types.add('null');
  if (types.size > 0 || depth >= deepestBranch) return types;
  for (const branch of branchesOf(schema)) {
    const branchTypes = typesOf(root, resolveSchema(root, branch), depth + 1);
    if (branchTypes.size === 0) return branchTypes;
    for (const name of branchTypes) types.add(name);
  }
  if (types.size > 0) return types;
  for (const choice of choicesOf(schema) ?? []) types.add(typeOf(choice));
  if (types.size === 0 && isRecord(schema['properties'])) types.add('object');
  if (types.size === 0 && isRecord(schema['items'])) types.add('array');
  return types;
}

/** The values of `enum` or `const`, the only ones that the schema takes; null: it does not list them. */
export function choicesOf(schema: JsonSchema): readonly unknown[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  return Object.hasOwn(schema, 'const') ? [schema['const']] : null;
}

/** The alternatives of which a value fits at least one, not resolved. */
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

/** The schema for the item at `index` of an array; null when it says nothing of it. */
export function itemOf(schema: JsonSchema, index: number): JsonSchema | null {
  const { prefixItems, items } = schema;
  if (Array.isArray(prefixItems) && index < prefixItems.length) {
    const item: unknown = prefixItems[index];
    return isRecord(item) ? item : null;
  }
  return isRecord(items) ? items : null;
}

function typeOf(value: unknown): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'string' ? 'string' : 'object';
}
