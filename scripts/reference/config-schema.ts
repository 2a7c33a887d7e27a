/** The JSON Schema of the configuration file, for editors. Pure. */
import { z } from 'zod';
import { configFileSchema } from '../../contracts/config-file.ts';

/** Where it is published; a file names it in its first line, see docs/reference/configuration.md. */
const schemaId = 'fermata.schema.json';

const standardFormats: ReadonlySet<string> = new Set(['uri', 'date-time', 'regex']);

export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configFileSchema, {
    io: 'input',
    target: 'draft-7',
    override({ jsonSchema }) {
      // What editors do not know, or nobody needs to read.
      if (jsonSchema.format !== undefined && !standardFormats.has(jsonSchema.format))
        delete jsonSchema.format;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return {
    $schema: schema.$schema,
    $id: schemaId,
    title: 'Configuration of fermata',
    description: 'fermata.yaml: the pool of engines, how turns are admitted, tool servers and callers.',
    ...schema,
  };
}

export function configSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
