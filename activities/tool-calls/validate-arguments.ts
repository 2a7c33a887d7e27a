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
    return (validate.errors ?? []).slice(0, mostProblems).map(describeFault);
  };
}

/** A fresh ajv for each schema: two tools may use the same `$id`. */
function compile(schema: JsonSchema): ValidateFunction | null {
  const { $schema: _dialect, ...rest } = schema;
  try {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, logger: false });
    addFormats.default(ajv);
    return ajv.compile(rest);
  } catch {
    return null;
  }
}

function describeFault(fault: ErrorObject): string {
  const path = fault.instancePath.slice(1).replaceAll('/', '.');
  const at = path === '' ? '' : `${path}: `;
  switch (fault.keyword) {
    case 'required':
      return `${path === '' ? '' : `${path}.`}${String(fault.params['missingProperty'])}: missing`;
    case 'additionalProperties':
      return `${at}has a field that the tool does not know`;
    case 'enum':
      return `${at}must be one of ${JSON.stringify(fault.params['allowedValues']).slice(0, 200)}`;
    default:
      return `${at}${fault.message ?? 'does not fit'}`;
  }
}
