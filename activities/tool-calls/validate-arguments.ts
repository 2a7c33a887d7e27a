/**
 * Checks arguments against a tool's schema with ajv. A schema that ajv cannot compile checks nothing:
 * the tool server has the last word. Compiled schemas are kept, the least recently used dropped at a bound.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from './json-schema.ts';

export type ValidateArguments = (value: unknown, schema: JsonSchema) => readonly string[];

const mostCompiled = 200;
const mostProblems = 5;
const ajvOptions = { strict: false, allErrors: true, validateSchema: false, logger: false } as const;

/** @returns a validator: `path: what is wrong` for each fault, without any of the value's own text. */
export function createValidator(): ValidateArguments {
  const compiled = new Map<string, ValidateFunction | null>();
  return (value, schema) => {
    const key = JSON.stringify(schema);
    let validate = compiled.get(key);
    if (validate === undefined) validate = compile(schema);
    compiled.delete(key);
    compiled.set(key, validate);
    const oldest = compiled.size > mostCompiled ? compiled.keys().next().value : undefined;
    if (oldest !== undefined) compiled.delete(oldest);
    if (validate === null || validate(value)) return [];
    const faults = (validate.errors ?? []).map((fault) => describeFault(fault, key));
    return [...new Set(faults)].slice(0, mostProblems);
  };
}

/** A fresh ajv for each schema: two tools may use the same `$id`. */
function compile(schema: JsonSchema): ValidateFunction | null {
  const { $schema: _dialect, ...rest } = schema;
  // Patterns were written for engines with and without the stricter syntax of Unicode.
  for (const unicodeRegExp of [true, false]) {
    try {
      const ajv = new Ajv2020({ ...ajvOptions, unicodeRegExp });
      addFormats.default(ajv);
      return ajv.compile(rest);
    } catch {
      // The other way is tried, then none.
    }
  }
  return null;
}

/** @param schemaText JSON of the schema: a field that stands nowhere in it is the model's own word, and not repeated. */
function describeFault(fault: ErrorObject, schemaText: string): string {
  const path = pathOf(fault.instancePath, schemaText);
  const at = path === '' ? '' : `${path}: `;
  switch (fault.keyword) {
    case 'required':
      return `${path === '' ? '' : `${path}.`}${String(fault.params['missingProperty'])}: missing`;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `${at}has a field that the tool does not know`;
    case 'enum':
      return `${at}must be one of ${JSON.stringify(fault.params['allowedValues']).slice(0, 200)}`;
    case 'const':
      return `${at}only ${JSON.stringify(fault.params['allowedValue']).slice(0, 200)} fits`;
    case 'pattern':
      return `${at}pattern ${String(fault.params['pattern']).slice(0, 200)} is not matched`;
    default:
      return `${at}${fault.message ?? 'does not fit'}`;
  }
}

/** A JSON pointer as `lines[2].text`. */
function pathOf(pointer: string, schemaText: string): string {
  return pointer
    .split('/')
    .slice(1)
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`;
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const shown = schemaText.includes(JSON.stringify(name)) ? name : '*';
      return path === '' ? shown : `${path}.${shown}`;
    }, '');
}
