/**
 * The arguments of a tool as the SDK checks them, with words for the model that got them wrong: every fault
 * by the name of its argument, then the arguments that there are. Short, however much was sent. `null` for
 * an argument is read as not given, since some clients fill in all that they know of.
 */
import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Faults that are told; more are counted. */
const maxFaults = 8;
const maxNames = 5;
const nameLength = 60;
const faultLength = 300;

function cut(text: string, length: number): string {
  const points = Array.from(text.slice(0, 2 * length + 2));
  return points.length <= length ? text : `${points.slice(0, length).join('')}…`;
}

function plainRecordOf(value: unknown): Record<string, unknown> | null {
  return z.record(z.string(), z.unknown()).safeParse(value).data ?? null;
}

function withoutNulls(value: unknown): unknown {
  const record = plainRecordOf(value);
  if (record === null) return value;
  return Object.fromEntries(Object.entries(record).filter(([, given]) => given !== null));
}

function faultOf(issue: z.core.$ZodIssue, given: unknown): string {
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.slice(0, maxNames).map((key) => `'${cut(key, nameLength)}'`);
    const more = issue.keys.length - names.length;
    return `no argument is called ${names.join(', ')}${more > 0 ? ` (and ${more} more)` : ''}`;
  }
  const [name, ...inside] = issue.path.map(String);
  if (name === undefined) return cut(issue.message, faultLength);
  if (inside.length === 0 && plainRecordOf(given)?.[name] === undefined) return `${name} is missing`;
  return cut(`${[name, ...inside].join('.')}: ${issue.message}`, faultLength);
}

/** What there is, required ones said to be so. */
function takenBy(input: z.ZodType): string {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input' });
  const names = Object.keys(properties).map((key) => (required.includes(key) ? `${key} (required)` : key));
  return names.length === 0 ? 'It takes no arguments' : `It takes: ${names.join(', ')}`;
}

/** Its JSON schema is that of `input`. */
export function wellWorded(input: z.ZodType): StandardSchemaWithJSON<unknown, unknown> {
  return {
    '~standard': {
      version: 1,
      vendor: 'fermata',
      jsonSchema: input['~standard'].jsonSchema,
      validate(value) {
        const given = withoutNulls(value);
        const parsed = input.safeParse(given);
        if (parsed.success) return { value: parsed.data };
        const { issues } = parsed.error;
        const faults = issues.slice(0, maxFaults).map((issue) => faultOf(issue, given));
        const more = issues.length > maxFaults ? [`and ${issues.length - maxFaults} more faults`] : [];
        return { issues: [{ message: `${[...faults, ...more].join('; ')}. ${takenBy(input)}` }] };
      },
    },
  };
}
