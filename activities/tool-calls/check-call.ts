/**
 * One call as the model wrote it, brought to what its tool takes or refused with words that let the
 * model mend it. Nothing is executed here, and a refusal never quotes the arguments: models copy what
 * they read.
 */
import type { ListedTool } from '../../contracts/tool-listing.ts';
import type { CallRefusal } from '../activity-types.ts';
import { coerceArguments } from './coerce-arguments.ts';
import { describeShape } from './describe-shape.ts';
import { parseArguments } from './parse-arguments.ts';
import { unwrapArguments } from './unwrap-arguments.ts';
import type { ValidateArguments } from './validate-arguments.ts';

export type CheckedCall =
  | { readonly kind: 'ok'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'refused'; readonly refusal: CallRefusal };

/** @param raw argument text of the call; absent, empty and `null` mean no arguments. */
export function checkCall(
  raw: string | null | undefined,
  tool: ListedTool,
  validate: ValidateArguments,
): CheckedCall {
  const parsed = parseArguments(raw);
  switch (parsed.kind) {
    case 'cut-off':
      return { kind: 'refused', refusal: cutOffRefusal(tool.name) };
    case 'not-json':
      return badArguments(tool, ['the arguments are not a JSON object']);
    case 'not-object':
      return badArguments(tool, [`the arguments are ${parsed.found} where an object is wanted`]);
    case 'object':
  }
  const unwrapped = unwrapArguments(parsed.value, tool.inputSchema, [tool.name, tool.serverTool]);
  if (unwrapped.kind === 'cut-off') return { kind: 'refused', refusal: cutOffRefusal(tool.name) };
  if (unwrapped.kind === 'schema-echo') return badArguments(tool, ['schema sent in place of values']);
  const { value, problems } = coerceArguments(unwrapped.value, tool.inputSchema);
  const faults = problems.length > 0 ? problems : validate(value, tool.inputSchema);
  if (faults.length > 0) return badArguments(tool, faults);
  return { kind: 'ok', value: value as Record<string, unknown> };
}

/** The reply ended inside this call. */
export function cutOffRefusal(name: string): CallRefusal {
  return {
    kind: 'cut-off',
    text: `Error: this call of ${name} was cut off before it was complete, so it was not run. Send it again with less in it, or split it into several smaller calls.`,
  };
}

function badArguments(tool: ListedTool, faults: readonly string[]): CheckedCall {
  return {
    kind: 'refused',
    refusal: {
      kind: 'bad-arguments',
      text: `Error: this call of ${tool.name} was not run: ${faults.slice(0, 8).join('; ')}. Expected arguments: ${describeShape(tool.inputSchema)}`,
    },
  };
}
