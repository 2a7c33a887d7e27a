/**
 * Text of a model as it really is: whoever decides by it must not be deceived by characters that are not
 * seen or that turn the writing direction. Pure.
 */

/** Controls but tab and line feed, marks of direction, invisible and tag characters, lone surrogates. */
const unseen =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/** Each such character as `\u{202e}`. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON text by lines, where it is JSON; else as it is. Nothing is left out or changed in its meaning. */
export function readableJson(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return visible(text);
  }
  // A name that stands twice, or a number beyond what JavaScript holds, would not be shown as it was written.
  if (squeezed(JSON.stringify(value)) !== squeezed(text)) return visible(text);
  return visible(JSON.stringify(value, null, 2));
}

/** Without the spaces between its parts; escapes of strings as they are. */
function squeezed(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ''));
}
