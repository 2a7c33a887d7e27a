/**
 * Text of a model as it really is: whoever decides by it must not be deceived by characters that are not
 * seen or that turn the writing direction. Pure.
 */

/** Code points that nobody sees: from, to. */
const unseen: readonly (readonly [number, number])[] = [
  // Controls, but tab and line feed.
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  // Soft hyphen, joiners and fillers.
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  // Spaces without width, marks and overrides of direction, separators.
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  // Half of a character.
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  // Tags and further selectors.
  [0xe0000, 0xe0fff],
];

/** Whether no character of it can be one of them: most texts are plain. */
const plain = /^[\t\n\x20-\x7e]*$/;

/** Each such character as `\u{202e}`. */
export function visible(text: string): string {
  if (plain.test(text)) return text;
  let shown = '';
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    const isUnseen = unseen.some(([from, to]) => point >= from && point <= to);
    shown += isUnseen ? `\\u{${point.toString(16)}}` : character;
  }
  return shown;
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
