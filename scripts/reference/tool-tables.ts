/** The MCP tools as clients are told of them. */
import { z } from 'zod';
import { defineTools } from '../../mcp-server/mcp/tool-definitions.ts';
import type { ToolDeps } from '../../mcp-server/mcp/tool-call.ts';
import { markdownTable } from './markdown-tables.ts';

/** No tool is called. */
const noDeps = {} as ToolDeps;

const argumentsSchema = z.looseObject({
  properties: z
    .record(
      z.string(),
      z.looseObject({
        type: z.string().optional(),
        description: z.string().optional(),
        default: z.unknown().optional(),
      }),
    )
    .default({}),
  required: z.array(z.string()).default([]),
});

/** One table of all tools, and one of the arguments of each. */
export function toolTables(): Readonly<Record<string, string>> {
  const tools = defineTools(noDeps);
  const list = markdownTable(
    ['tool', 'title', 'reads only', 'in one line'],
    tools.map(({ name, title, annotations, description }) => [
      `[\`${name}\`](#${name})`,
      title,
      annotations.readOnlyHint === true ? 'yes' : '',
      description.split(/(?<=\.)\s/)[0] ?? '',
    ]),
  );
  return Object.fromEntries([
    ['list', list],
    ...tools.map(({ name, input }) => [name, argumentTable(input)] as const),
  ]);
}

function argumentTable(input: z.ZodType): string {
  const { properties, required } = argumentsSchema.parse(
    z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }),
  );
  if (Object.keys(properties).length === 0) return 'It takes no arguments.\n';
  return markdownTable(
    ['argument', 'default', 'meaning'],
    Object.entries(properties).map(([name, { default: given, description = '' }]) => [
      `\`${name}\``,
      required.includes(name) ? 'required' : given === undefined ? '' : `\`${JSON.stringify(given)}\``,
      description,
    ]),
  );
}
