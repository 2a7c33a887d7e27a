/**
 * Cutting texts so that an answer fits its client: several texts share one budget fairly, and a cut
 * text keeps head and tail, whole characters and a note of how much is gone.
 */

/**
 * The most an answer's texts may take together, in bytes of their JSON form: about 20,000 tokens, at
 * 3 bytes a token, which is cautious for prose and about right for code and for other scripts.
 */
export const answerBytes = 60_000;

/** Bytes a text takes inside a JSON string, without the quotes. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/**
 * Splits `budget` over `sizes`, largest least first: whoever needs less than an equal part gets all it
 * needs, and the others share what is left equally. Never more than `budget` together.
 */
export function fairShares(sizes: readonly number[], budget: number): number[] {
  const shares = sizes.map(() => 0);
  const order = sizes.map((_, index) => index).toSorted((a, b) => (sizes[a] ?? 0) - (sizes[b] ?? 0));
  let left = budget;
  order.forEach((index, position) => {
    const share = Math.min(sizes[index] ?? 0, Math.floor(left / (order.length - position)));
    shares[index] = share;
    left -= share;
  });
  return shares;
}

/** Code points from the start of `points` whose JSON form takes at most `maxBytes`. */
function fitting(points: readonly string[], maxBytes: number): number {
  let bytes = 0;
  for (const [index, point] of points.entries()) {
    bytes += jsonBytes(point);
    if (bytes > maxBytes) return index;
  }
  return points.length;
}

/** Room for the note, its numbers included. */
const noteBytes = 100;

/** `text` if its JSON form fits `maxBytes`, else its first two thirds and last third with a note between. */
export function cutMiddle(text: string, maxBytes: number): string {
  if (jsonBytes(text) <= maxBytes) return text;
  const points = Array.from(text);
  const room = Math.max(0, maxBytes - noteBytes);
  const head = fitting(points, Math.floor((room * 2) / 3));
  const tail = fitting(points.slice(head).toReversed(), Math.floor(room / 3));
  const note = `[cut: ${points.length - head - tail} of ${points.length} characters left out here]`;
  return `${points.slice(0, head).join('')}\n${note}\n${tail === 0 ? '' : points.slice(-tail).join('')}`;
}

/** Cuts `texts` to `budget` bytes together, fairly. */
export function cutTogether(texts: readonly string[], budget: number = answerBytes): string[] {
  const shares = fairShares(texts.map(jsonBytes), budget);
  return texts.map((text, index) => cutMiddle(text, shares[index] ?? 0));
}
