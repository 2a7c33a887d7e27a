/** Calls written as Python: `name(key="value", …)`, one or a list of them, with literals only. Pure. */
import { parseValue, plainValue } from './parse-arguments.ts';

export interface PythonCall {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @returns null when the text is anything else, calls with positional arguments included. */
export function readPythonCalls(text: string): PythonCall[] | null {
  const listed = /^\[\s*([\s\S]*?)\s*,?\s*\]$/.exec(text);
  let rest = listed?.[1] ?? text;
  const calls: PythonCall[] = [];
  while (rest !== '') {
    const head = /^([A-Za-z_][\w.-]*)\(\s*/.exec(rest);
    if (head === null) return null;
    const read = readFields(rest.slice(head[0].length));
    if (read === null) return null;
    calls.push({ name: head[1] ?? '', fields: read.fields });
    const after = rest.slice(head[0].length + read.length);
    const separator = listed === null ? /^\s*(?:;\s*|\n\s*|$)/.exec(after) : /^\s*(?:,\s*|$)/.exec(after);
    if (separator === null) return null;
    rest = after.slice(separator[0].length);
  }
  return calls.length === 0 ? null : calls;
}

interface ReadFields {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of the text that was read, the closing parenthesis included. */
  readonly length: number;
}

function readFields(text: string): ReadFields | null {
  const fields = new Map<string, unknown>();
  let at = 0;
  while (text.charAt(at) !== ')') {
    const key = /^([A-Za-z_]\w*)\s*=\s*/.exec(text.slice(at));
    if (key === null) return null;
    at += key[0].length;
    const length = literalLength(text.slice(at));
    const value = literalValue(text.slice(at, at + length));
    if (length === 0 || value === undefined) return null;
    fields.set(key[1] ?? '', value);
    at += length;
    const separator = /^\s*(?:,\s*|(?=\)))/.exec(text.slice(at));
    if (separator === null) return null;
    at += separator[0].length;
  }
  return { fields: Object.fromEntries(fields), length: at + 1 };
}

/** Characters of the literal that the text begins with; 0: it begins with none, or with one that does not end. */
function literalLength(text: string): number {
  const scalar = /^(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[-+]?[\w.]+)/.exec(text);
  if (scalar !== null) return scalar[0].length;
  if (!/^[[{]/.test(text)) return 0;
  let depth = 0;
  for (const token of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[[\]{}]/g)) {
    if (/^[[{]$/.test(token[0])) depth += 1;
    if (/^[\]}]$/.test(token[0])) depth -= 1;
    if (depth === 0) return token.index + token[0].length;
  }
  return 0;
}

/** undefined: it is no literal. */
function literalValue(literal: string): unknown {
  if (literal === 'None') return null;
  if (literal === 'True') return true;
  if (literal === 'False') return false;
  // A bare word would be a variable, whose value nobody knows.
  if (/^[A-Za-z_]/.test(literal)) return undefined;
  return plainValue(parseValue(literal));
}
