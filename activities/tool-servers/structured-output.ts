/**
 * Whether a result keeps what its tool promised of structured output. Pure. It is only told, never refused:
 * the model reads the result as it is, and a result that reports a failure promised nothing.
 */
import type { ToolServerResult } from '../tool-calls/render-result.ts';
import type { ValidateArguments } from '../tool-calls/validate-arguments.ts';
import type { ServerTool } from './read-tools.ts';

/** @returns what is wrong with it; null: nothing. */
export function structuredOutputFault(
  tool: Pick<ServerTool, 'outputSchema'>,
  result: Pick<ToolServerResult, 'structuredContent' | 'isError'>,
  validate: ValidateArguments,
): string | null {
  if (tool.outputSchema === undefined || result.isError === true) return null;
  if (result.structuredContent === undefined) return 'it declares structured output and gave none';
  const [fault] = validate(result.structuredContent, tool.outputSchema);
  return fault === undefined ? null : `its structured output does not fit what it declares: ${fault}`;
}
