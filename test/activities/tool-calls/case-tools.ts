/** Tools and checked calls for the tests of public cases. */
import { checkCall } from '../../../activities/tool-calls/check-call.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';

export type Json = Readonly<Record<string, unknown>>;

const validate = createValidator();

export function toolOf(name: string, inputSchema: Json): ListedTool {
  return { name, server: 'kit', serverTool: name, description: '', inputSchema, annotations: {} };
}

export interface Outcome {
  /** Arguments as the tool gets them; absent: it is not called. */
  readonly coerced?: Json;
  /** What the model reads instead. */
  readonly refusal?: string;
}

/** What becomes of a call with this argument text. */
export function outcomeOf(raw: string | null | undefined, tool: ListedTool): Outcome {
  const checked = checkCall(raw, tool, validate);
  return checked.kind === 'ok'
    ? { coerced: JSON.parse(JSON.stringify(checked.value)) as Json }
    : { refusal: checked.refusal.text };
}
