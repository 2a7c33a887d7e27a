/**
 * A tool's schema as it goes to an engine: what its grammar builder may not take is written otherwise,
 * loosened or told in words, so that one odd schema never fails a request and every tool with it. Pure.
 * It never takes a value away that the tool's own schema takes; calls are checked against that one, as
 * it is.
 */
import { engineRules } from './engine-rules.ts';
import {
  branchesOf,
  choicesOf,
  mergeSchemas,
  referenceTarget,
  requiredOf,
  resolveSchema,
  typesOf,
  type JsonSchema,
  type TypeName,
} from './json-schema.ts';
import { isRecord } from './parse-arguments.ts';

const deepest = 24;
/** Schemas inside one schema; references and alternatives can multiply them. */
const mostSchemas = 2_000;
/** Alternatives of the whole whose fields are shown. */
const mostBranches = 32;
const anyType: readonly TypeName[] = ['string', 'number', 'boolean', 'object', 'array', 'null'];

/** @param given the tool's own schema; it is not changed. */
export function engineSchema(given: JsonSchema): JsonSchema {
  const walk: Walk = { root: given, definitions: new Map(), left: mostSchemas };
  const schema = wholeSchema(given, walk);
  const definitions = Object.fromEntries(
    [...walk.definitions.values()].map(({ name, schema: definition }) => [name, definition]),
  );
  return walk.definitions.size === 0 ? schema : { ...schema, $defs: definitions };
}

interface Walk {
  readonly root: JsonSchema;
  /** By what pointed to it. */
  readonly definitions: Map<string, { readonly name: string; schema: JsonSchema }>;
  left: number;
}

/** The top: an object with its fields, without alternatives of the whole. */
function wholeSchema(given: JsonSchema, walk: Walk): JsonSchema {
  const top = resolveSchema(walk.root, given);
  const branches = branchesOf(top).map((branch) => resolveSchema(walk.root, branch));
  if (branches.length === 0) return objectSchema(top, walk, 0);
  const { anyOf: _anyOf, oneOf: _oneOf, ...shared } = top;
  const fields = branches.slice(0, mostBranches).map((branch) => fieldsOf(branch));
  const properties: Record<string, unknown> = {};
  for (const name of new Set(fields.flatMap((own) => Object.keys(own)))) {
    const forms = distinct(fields.flatMap((own) => (Object.hasOwn(own, name) ? [own[name]] : [])));
    properties[name] = forms.length === 1 ? forms[0] : { anyOf: forms };
  }
  const needs = branches.map((branch) => requiredOf(branch));
  const required = (needs[0] ?? []).filter((name) => needs.every((names) => names.includes(name)));
  const closed = branches.length <= mostBranches && branches.every(isClosed);
  const merged = mergeSchemas(shared, {
    properties,
    required,
    ...(closed ? { additionalProperties: false } : {}),
  });
  return objectSchema({ ...merged, description: describeNeeds(shared['description'], needs) }, walk, 0);
}

/** What the alternatives of the whole ask for, in words. */
function describeNeeds(description: unknown, needs: readonly (readonly string[])[]): unknown {
  const named = distinct(needs.filter((names) => names.length > 0).map((names) => names.join(', ')));
  if (named.length < 2) return description;
  const note = `(needs ${named.slice(0, mostBranches).join('; or ')})`;
  return typeof description === 'string' ? `${description} ${note}` : note;
}

function isClosed(schema: JsonSchema): boolean {
  return schema['additionalProperties'] === false && schema['patternProperties'] === undefined;
}

/** Each value once, as JSON tells them apart. */
function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

function fieldsOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(schema['properties']) ? schema['properties'] : {};
}

/** One schema below the top: always with a type, or several. */
function innerSchema(given: unknown, walk: Walk, depth: number): JsonSchema {
  walk.left -= 1;
  if (!isRecord(given) || depth > deepest || walk.left < 0) return { type: anyType };
  const referred = referredSchema(given, walk, depth);
  if (referred !== null) return referred;
  const schema = resolveSchema(walk.root, given);
  const choices = choicesOf(schema);
  const types = [...typesOf(walk.root, schema)];
  const type = types.length === 0 ? anyType : types.length === 1 ? types[0] : types;
  if (choices !== null && choices.length > 0) return { ...engineRules(schema), type, enum: choices };
  const branches = branchesOf(schema);
  if (branches.length > 0) return unionSchema(schema, branches, walk, depth);
  return {
    ...engineRules(schema),
    type,
    ...(types.includes('array') ? arrayParts(schema, walk, depth) : {}),
    ...(types.includes('object') ? objectParts(schema, walk, depth) : {}),
  };
}

/** Alternatives: as types where they say no more than that, else as `anyOf`. */
function unionSchema(
  schema: JsonSchema,
  branches: readonly JsonSchema[],
  walk: Walk,
  depth: number,
): JsonSchema {
  const { anyOf: _anyOf, oneOf: _oneOf, description, title, default: preset, ...shared } = schema;
  const annotations = engineRules({ description, title, default: preset });
  const forms = branches.map((branch) => {
    const whole =
      Object.keys(shared).length === 0 ? branch : mergeSchemas(shared, resolveSchema(walk.root, branch));
    return innerSchema(whole, walk, depth + 1);
  });
  const types = [...new Set(forms.flatMap((form) => form['type'] as TypeName | readonly TypeName[]))];
  const type = types.length === 1 ? types[0] : types;
  if (forms.every((form) => Object.keys(form).length === 1)) return { ...annotations, type };
  const different = distinct(forms);
  if (different.length === 1) return { ...different[0], ...annotations };
  return { ...annotations, type, anyOf: different };
}

const structure = ['properties', 'items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', '$ref'];
const hasStructure = (schema: JsonSchema): boolean => structure.some((key) => Object.hasOwn(schema, key));

/** A reference as one into `$defs`, which every builder follows; null: what it names stands in its place. */
function referredSchema(given: JsonSchema, walk: Walk, depth: number): JsonSchema | null {
  const { $ref: direct, allOf, description, title, default: preset, ...rules } = given;
  const wrapped = Array.isArray(allOf) && allOf.length === 1 && isRecord(allOf[0]) ? allOf[0] : {};
  const alone = Object.keys(wrapped).length === 1 && direct === undefined;
  const reference = alone ? wrapped['$ref'] : direct;
  if (typeof reference !== 'string' || (allOf !== undefined && !alone)) return null;
  const target = referenceTarget(walk.root, reference);
  if (target === null || !hasStructure(target) || hasStructure(rules)) return null;
  let definition = walk.definitions.get(reference);
  if (definition === undefined) {
    definition = { name: definitionName(reference, walk), schema: {} };
    // Kept before it is walked: it may refer to itself.
    walk.definitions.set(reference, definition);
    definition.schema = innerSchema(target, walk, depth + 1);
  }
  const types = [...typesOf(walk.root, resolveSchema(walk.root, target))];
  return {
    ...engineRules({ description, title, default: preset }),
    type: types.length === 0 ? anyType : types.length === 1 ? types[0] : types,
    $ref: `#/$defs/${definition.name}`,
  };
}

function definitionName(reference: string, walk: Walk): string {
  const last = reference.split('/').at(-1) ?? '';
  const readable = last.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 40) || 'root';
  const taken = new Set([...walk.definitions.values()].map(({ name }) => name));
  let name = readable;
  for (let number = 2; taken.has(name); number += 1) name = `${readable}_${number}`;
  return name;
}

function objectSchema(schema: JsonSchema, walk: Walk, depth: number): JsonSchema {
  return {
    ...engineRules(schema),
    type: 'object',
    properties: {},
    ...objectParts(schema, walk, depth),
  };
}

function objectParts(schema: JsonSchema, walk: Walk, depth: number): Record<string, unknown> {
  const fields = fieldsOf(schema);
  const taken = Object.entries(fields).filter(([, field]) => field !== false);
  const properties = Object.fromEntries(
    taken.map(([name, field]) => [name, innerSchema(field, walk, depth + 1)]),
  );
  const required = [...new Set(requiredOf(schema))];
  for (const name of required) if (!Object.hasOwn(properties, name)) properties[name] = { type: anyType };
  // Without its patterns an object that is closed otherwise would lose the fields they allow.
  const others = isRecord(schema['patternProperties']) ? undefined : schema['additionalProperties'];
  return {
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
    ...(typeof others === 'boolean' ? { additionalProperties: others } : {}),
    ...(isRecord(others) ? { additionalProperties: innerSchema(others, walk, depth + 1) } : {}),
  };
}

function arrayParts(schema: JsonSchema, walk: Walk, depth: number): Record<string, unknown> {
  const { items, prefixItems } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : null;
  // Builders disagree on tuples: any of the forms may stand at any place.
  const forms: unknown[] = tuple ?? [items];
  const rest = tuple !== null && (isRecord(items) || items !== false) ? [isRecord(items) ? items : {}] : [];
  const all = [...forms, ...rest].map((form) => innerSchema(form, walk, depth + 1));
  const different = distinct(all);
  if (different.length === 1) return { items: different[0] };
  const open = different.find((form) => form['type'] === anyType && Object.keys(form).length === 1);
  return { items: open ?? { type: anyType, anyOf: different } };
}
