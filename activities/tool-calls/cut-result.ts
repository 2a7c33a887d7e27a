/** Keeps a tool result within what a transcript can take: head and tail stay, the middle goes. Pure. */

/** Bytes of a tool result that the model gets. */
export const resultLimitBytes = 50_000;

/** @returns the text, or its head and tail with a line between them that says how much was cut. */
export function cutResult(text: string, limitBytes: number = resultLimitBytes): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limitBytes) return text;
  const headBytes = Math.floor(limitBytes * 0.7);
  const head = decodeWhole(bytes.subarray(0, headBytes));
  const tail = decodeWhole(bytes.subarray(bytes.length - (limitBytes - headBytes)));
  const kept = Buffer.byteLength(head) + Buffer.byteLength(tail);
  const note = `[${bytes.length - kept} of ${bytes.length} bytes of this result were cut here; ask the tool for a smaller part]`;
  return `${head}\n\n${note}\n\n${tail}`;
}

/** The characters that are whole in these bytes. */
function decodeWhole(bytes: Buffer): string {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start += 1;
  // A streaming decoder keeps back a character that is not complete at the end.
  return new TextDecoder().decode(bytes.subarray(start), { stream: true });
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}
