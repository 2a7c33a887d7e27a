/**
 * Images, sounds and files that a request carries inlined as base64: an engine does not read them as text,
 * so they count at a flat rate. Pure. Knows the places where the four APIs put them.
 */
import { isObject, type Json } from '../foreign-json.ts';

/** What stands in the place of text when tokens are estimated. */
export interface NotText {
  /** Characters of JSON text that are no text to the engine. */
  readonly characters: number;
  /** Tokens to count for them. */
  readonly tokens: number;
}

export const onlyText: NotText = { characters: 0, tokens: 0 };

const tokensPerPiece = 1_000;

/** All inlined data among these parts of a message. */
export function inlinedIn(parts: readonly unknown[]): NotText {
  let characters = 0;
  let tokens = 0;
  for (const part of parts) {
    const length = isObject(part) ? inlinedLength(part) : 0;
    if (length === 0) continue;
    characters += length;
    tokens += tokensPerPiece;
  }
  return tokens === 0 ? onlyText : { characters, tokens };
}

export function addNotText(a: NotText, b: NotText): NotText {
  return { characters: a.characters + b.characters, tokens: a.tokens + b.tokens };
}

/** Length of the data of one part; 0 when it has none. */
function inlinedLength(part: Json): number {
  return (
    dataUrl(part['image_url']) ||
    dataUrl(part['video_url']) ||
    dataUrl(part['audio_url']) ||
    lengthOf(inner(part['input_audio'], 'data')) ||
    lengthOf(inner(part['file'], 'file_data')) ||
    lengthOf(part['file_data']) ||
    base64Source(part['source'])
  );
}

/** OpenAI's chat nests the URL, its responses do not. */
function dataUrl(value: unknown): number {
  const url = isObject(value) ? value['url'] : value;
  return typeof url === 'string' && url.startsWith('data:') ? url.length : 0;
}

function base64Source(source: unknown): number {
  return inner(source, 'type') === 'base64' ? lengthOf(inner(source, 'data')) : 0;
}

function inner(value: unknown, field: string): unknown {
  return isObject(value) ? value[field] : undefined;
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}
