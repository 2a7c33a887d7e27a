/** Measuring and cutting text, without anything that the workflow sandbox lacks. Pure. */

/** Bytes of `text` in UTF-8; a lone surrogate counts as its replacement mark. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** The first `limit` UTF-16 units of `text`, with an ellipsis when something was cut. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = limit - 1;
  const last = text.charCodeAt(end - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
}

/** First line of `text` that says something, cut. */
export function firstLine(text: string, limit: number): string {
  const line = text.split('\n').find((candidate) => candidate.trim() !== '') ?? '';
  return cutText(line.trim(), limit);
}
