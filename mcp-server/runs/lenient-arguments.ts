/**
 * Arguments as models write them: numbers, booleans and lists that come as text are read as what they
 * mean. The JSON schema that clients see is that of the inner type.
 */
import { z } from 'zod';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export function numberFromText<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    return /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value;
  }, schema);
}

export function booleanFromText<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => {
    const text = typeof value === 'string' ? value.trim().toLowerCase() : null;
    return text === 'true' ? true : text === 'false' ? false : value;
  }, schema);
}

/** A list as JSON text, or one item alone, is taken for the list. */
export function listFromText<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    const list = parsed(value);
    return Array.isArray(list) ? list : [value];
  }, schema);
}
