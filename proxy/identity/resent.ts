/**
 * Takes from a message what clients add to it or leave out when they send it again, so that it has one hash
 * all its life. Pure; what means something to the model stays.
 */
import { isObject, type Json } from '../foreign-json.ts';

/** A block without its mark of the prompt cache; such marks move on to the newest messages. */
export function withoutMark(block: unknown): unknown {
  return isObject(block) && 'cache_control' in block ? without(block, ['cache_control']) : block;
}

/** The same object when it has none of these fields. */
export function without(value: Json, fields: readonly string[]): Json {
  if (!fields.some((field) => field in value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !fields.includes(name)));
}
