/** Measuring and cutting text, without anything that the workflow sandbox lacks. Pure. */

/** Bytes of `text` in UTF-8; a lone surrogate counts as its replacement mark. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (isHigh(code) && isLow(text.charCodeAt(index + 1))) {
      bytes += 4;
      index += 1;
    } else bytes += 3;
  }
  return bytes;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The first `limit` UTF-16 units of `text`, with an ellipsis when something was cut. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = limit - 1;
  return `${text.slice(0, wholeCharacters(text, end))}…`;
}

/** First line of `text` that says something, cut. */
export function firstLine(text: string, limit: number): string {
  const line = text.split('\n').find((candidate) => candidate.trim() !== '') ?? '';
  return cutText(line.trim(), limit);
}

/** Bytes of `text` inside a JSON string, without its quotes. */
export function jsonTextBytes(text: string): number {
  return utf8Bytes(JSON.stringify(text)) - 2;
}

/** Share of what is kept that goes to the head: most tools say first what matters. */
const headShare = 0.7;

/** `text` with at most `limitBytes` inside a JSON string: its head and tail, and between them what is gone. */
export function cutMiddle(text: string, limitBytes: number): string {
  const bytes = jsonTextBytes(text);
  if (bytes <= limitBytes) return text;
  const note = `\n[about ${bytes - limitBytes} of ${bytes} bytes were cut here]\n`;
  // Characters differ in size, so the share of them is only a first guess.
  let units = Math.floor((text.length * limitBytes) / bytes);
  for (;;) {
    const headEnd = wholeCharacters(text, Math.floor(units * headShare));
    const tailStart = wholeCharacters(text, text.length - Math.floor(units * (1 - headShare)));
    const cut = `${text.slice(0, headEnd)}${note}${text.slice(tailStart)}`;
    if (units <= 0 || jsonTextBytes(cut) <= limitBytes) return cut;
    units = Math.floor(units * 0.95) - 1;
  }
}

/** `index`, or one less where it stands inside a surrogate pair. */
function wholeCharacters(text: string, index: number): number {
  const place = Math.max(0, index);
  return isHigh(text.charCodeAt(place - 1)) ? place - 1 : place;
}
