/**
 * A tool call in the shapes that models really produce.
 *
 * `good`: as asked for. `wrong-types`: numbers and booleans as texts, or a number where only texts were
 * wanted. `text`: the call as JSON in the content, no structured call. `text-tags`: the same between
 * `<tool_call>` tags. `broken-json`: arguments that break off before their last brace. `unknown-tool`: a
 * name that was not offered.
 */
import type { CallShape } from './directives.ts';

export interface ShapedCall {
  readonly name: string;
  /** JSON text, or what was meant to be. */
  readonly arguments: string;
  /** Set when the call is written into the content instead. */
  readonly asText: string | null;
}

export function shapeCall(
  shape: CallShape,
  name: string,
  values: Readonly<Record<string, unknown>>,
): ShapedCall {
  const text = JSON.stringify(values);
  switch (shape) {
    case 'good':
      return { name, arguments: text, asText: null };
    case 'wrong-types':
      return { name, arguments: JSON.stringify(withWrongTypes(values)), asText: null };
    case 'text':
      return { name, arguments: text, asText: `{"name": ${JSON.stringify(name)}, "arguments": ${text}}` };
    case 'text-tags':
      return {
        name,
        arguments: text,
        asText: `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${text}}\n</tool_call>`,
      };
    case 'broken-json':
      return { name, arguments: text.slice(0, -1), asText: null };
    case 'unknown-tool':
      return { name: `${name}_of_another_server`, arguments: text, asText: null };
    default:
      return shape satisfies never;
  }
}

function withWrongTypes(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(values);
  const isScalar = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean';
  if (entries.some(([, value]) => isScalar(value))) {
    return Object.fromEntries(entries.map(([key, value]) => [key, isScalar(value) ? String(value) : value]));
  }
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'string' ? value.length : value]),
  );
}
