/** A schema as one short line that a model reads at once: `{"city": string, "days"?: integer}`. Pure. */
import {
  branchesOf,
  choicesOf,
  itemOf,
  propertiesOf,
  requiredOf,
  resolveSchema,
  typesOf,
  type JsonSchema,
} from './json-schema.ts';

const longestShape = 1_000;

export function describeShape(schema: JsonSchema): string {
  const text = shapeOf({ ...schema, type: 'object' }, schema, 0);
  return text.length <= longestShape ? text : `${text.slice(0, longestShape)} …`;
}

function shapeOf(given: JsonSchema, root: JsonSchema, depth: number): string {
  const schema = resolveSchema(root, given);
  if (depth > 3) return '…';
  const choices = choicesOf(schema);
  if (choices !== null) {
    const shown = choices.slice(0, 12).map((choice) => JSON.stringify(choice));
    return choices.length > shown.length ? `${shown.join(' | ')} | …` : shown.join(' | ');
  }
  const branches = branchesOf(schema);
  if (branches.length > 0 && schema['type'] === undefined)
    return branches.map((branch) => shapeOf(branch, root, depth + 1)).join(' | ');
  const types = [...typesOf(root, schema)];
  if (types.length === 0) return 'any';
  return types
    .map((type) => {
      if (type === 'array') return `[${shapeOf(itemOf(schema, 0) ?? {}, root, depth + 1)}, …]`;
      return type === 'object' ? objectShape(schema, root, depth) : type;
    })
    .join(' | ');
}

function objectShape(schema: JsonSchema, root: JsonSchema, depth: number): string {
  const required = new Set(requiredOf(schema));
  const entries = Object.entries(propertiesOf(schema));
  const fields = entries
    .slice(0, 24)
    .map(
      ([name, property]) =>
        `${JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${shapeOf(property, root, depth + 1)}`,
    );
  return `{${[...fields, ...(entries.length > 24 ? ['…'] : [])].join(', ')}}`;
}
