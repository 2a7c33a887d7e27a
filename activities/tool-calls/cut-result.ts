/**
 * Keeps a tool result within what a transcript can take: head and tail stay, the middle goes. Pure. It
 * counts bytes of UTF-8 and cuts between characters, wherever lines end.
 */

/** Bytes of a tool result that the model gets, the note of what was cut included. */
export const resultLimitBytes = 50_000;

/** Share of what is kept that goes to the head: most tools say first what matters. */
const headShare = 0.7;

/**
 * @returns the text, or its head and tail with a line between them that says how much was cut: never
 * more than `limitBytes`. Where not even that line fits, it is the head alone.
 */
export function cutResult(text: string, limitBytes: number = resultLimitBytes): string {
  const bytes = Buffer.from(text, 'utf8');
  // Half a surrogate pair, which is no text, is a replacement mark by now.
  if (bytes.length <= limitBytes) return bytes.toString('utf8');
  const keptBytes = limitBytes - Buffer.byteLength(noteOf(bytes.length, bytes.length));
  if (keptBytes <= 0) return bytes.toString('utf8', 0, startOfCharacter(bytes, limitBytes));
  const headEnd = startOfCharacter(bytes, Math.floor(keptBytes * headShare));
  const tailStart = endOfCharacter(bytes, bytes.length - (keptBytes - headEnd));
  const note = noteOf(tailStart - headEnd, bytes.length);
  return bytes.toString('utf8', 0, headEnd) + note + bytes.toString('utf8', tailStart);
}

function noteOf(cutBytes: number, allBytes: number): string {
  return `\n\n[${cutBytes} of ${allBytes} bytes of this result were cut here; ask the tool for a smaller part]\n\n`;
}

/** The last place at or before `index` where a character begins. */
function startOfCharacter(bytes: Buffer, index: number): number {
  let place = index;
  while (place > 0 && isContinuation(bytes[place])) place -= 1;
  return place;
}

/** The first place at or after `index` where a character begins. */
function endOfCharacter(bytes: Buffer, index: number): number {
  let place = index;
  while (place < bytes.length && isContinuation(bytes[place])) place += 1;
  return place;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}
