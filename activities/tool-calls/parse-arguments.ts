/**
 * Reads the argument text of a call. Pure. Text that is nearly JSON is repaired, but text that stops in
 * the middle is not: closing it would run half a command. Numbers that a double cannot hold exactly keep
 * their spelling, as {@link ExactNumber}, until the schema says what is wanted.
 */
import { jsonrepair } from 'jsonrepair';

/** A number literal whose spelling is more than its value as a double. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type ParsedArguments =
  | { readonly kind: 'object'; readonly value: Record<string, unknown> }
  /** The text stops inside a string, an array or an object. */
  | { readonly kind: 'cut-off' }
  | { readonly kind: 'not-json' }
  /** JSON, but no object. */
  | { readonly kind: 'not-object'; readonly found: string };

/** Absent, empty and `null` arguments are an empty object. */
export function parseArguments(raw: string | null | undefined): ParsedArguments {
  const text = (raw ?? '').trim();
  if (text === '' || text === 'null') return { kind: 'object', value: {} };
  const value = parseValue(text);
  if (value === undefined) return { kind: endsInside(text) ? 'cut-off' : 'not-json' };
  if (isRecord(value)) return { kind: 'object', value };
  // Some engines encode the arguments twice.
  if (typeof value === 'string' && value.trim().startsWith('{')) return parseArguments(value);
  return { kind: 'not-object', found: Array.isArray(value) ? 'an array' : typeof value };
}

/** The value of JSON or nearly JSON text; undefined when it is neither, or stops in the middle. */
export function parseValue(text: string): unknown {
  const strict = parseExactly(text);
  if (strict !== undefined) return strict;
  if (endsInside(text)) return undefined;
  try {
    return parseExactly(jsonrepair(text));
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** The value with every {@link ExactNumber} as a plain number: for text and checks that need plain JSON. */
export function plainValue(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plainValue);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plainValue(entry)]));
}

const tokenPattern = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** `JSON.parse` that keeps the spelling of numbers whose double prints otherwise. */
function parseExactly(text: string): unknown {
  try {
    let mark = 'exact:';
    while (text.includes(mark)) mark = `${mark}:`;
    let marked = false;
    const spelled = text.replaceAll(tokenPattern, (token) => {
      if (token.startsWith('"') || String(Number(token)) === token) return token;
      marked = true;
      return JSON.stringify(mark + token);
    });
    const value: unknown = JSON.parse(marked ? spelled : text);
    if (!marked) return value;
    // Only a text that is JSON as it stands may be read through the marks.
    JSON.parse(text);
    return unmark(value, mark);
  } catch {
    return undefined;
  }
}

function unmark(value: unknown, mark: string): unknown {
  if (typeof value === 'string')
    return value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value;
  if (Array.isArray(value)) return value.map((entry: unknown) => unmark(entry, mark));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unmark(entry, mark)]));
}

/** Whether the text ends inside a string, an array or an object that it opened. */
export function endsInside(text: string): boolean {
  let depth = 0;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (quote !== '') {
      if (character === '\\') index += 1;
      else if (character === quote) quote = '';
    } else if (character === '"') quote = character;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
  }
  return quote !== '' || depth > 0;
}
