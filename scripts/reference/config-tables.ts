/** What stands in docs/reference/configuration.md of each field of the file, from its JSON Schema. Pure. */
import { z } from 'zod';
import { configJsonSchema } from './config-schema.ts';
import { markdownTable } from './markdown-tables.ts';

const nodeSchema = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  const: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  format: z.string().optional(),
  required: z.array(z.string()).default([]),
  get properties() {
    return z.record(z.string(), nodeSchema).optional();
  },
  get items() {
    return nodeSchema.optional();
  },
  get additionalProperties() {
    return z.union([z.boolean(), nodeSchema]).optional();
  },
  get anyOf() {
    return z.array(nodeSchema).optional();
  },
});
type Node = z.infer<typeof nodeSchema>;

const head = ['field', 'value', 'default', 'meaning'];

export function configTables(): Readonly<Record<string, string>> {
  const root = nodeSchema.parse(configJsonSchema());
  const section = (name: string): Node => found(root.properties?.[name], name);
  const replica = found(section('pool').items, 'pool[]');
  const toolServers = found(section('tools').properties?.['mcpServers'], 'tools.mcpServers');
  const [program, remote] = found(objectValue(toolServers), 'a tool server').anyOf ?? [];
  return {
    pool: tableOf(replica),
    policy: tableOf(section('policy')),
    'tools-command': tableOf(found(program, 'a tool server that is a program')),
    'tools-url': tableOf(found(remote, 'a tool server over HTTP')),
    callers: tableOf(found(objectValue(section('callers')), 'a caller')),
  };
}

function tableOf(node: Node): string {
  return markdownTable(head, rowsOf(node, ''));
}

function rowsOf(node: Node, prefix: string): string[][] {
  return Object.entries(node.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    if (field.properties !== undefined) {
      return [[code(path), '', '', field.description ?? ''], ...rowsOf(field, `${path}.`)];
    }
    const isRequired = node.required.includes(name);
    return [
      [code(path), valueOf(field), isRequired ? 'required' : defaultOf(field), field.description ?? ''],
    ];
  });
}

function valueOf(field: Node): string {
  if (field.enum !== undefined) return field.enum.map(code).join(', ');
  if (field.const !== undefined) return code(field.const);
  if (field.type === 'array') return `list of ${field.items === undefined ? 'values' : valueOf(field.items)}`;
  if (field.type === 'object') return 'names with text';
  if (field.format === 'uri') return 'address';
  const words = field.type === 'string' ? 'text' : (field.type ?? '');
  const bounds = [
    ...(field.minimum === undefined ? [] : [`from ${field.minimum}`]),
    ...(field.exclusiveMinimum === undefined ? [] : [`over ${field.exclusiveMinimum}`]),
    ...(field.maximum === undefined ? [] : [`to ${field.maximum}`]),
  ];
  return [words, ...bounds].join(' ');
}

function defaultOf({ default: given }: Node): string {
  if (given === undefined) return '';
  return code(typeof given === 'string' ? given : JSON.stringify(given));
}

function objectValue({ additionalProperties }: Node): Node | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

function found<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`the schema of the configuration has no ${name}`);
  return value;
}

function code(text: string): string {
  return `\`${text}\``;
}
