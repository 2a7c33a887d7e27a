/** Finds files that stand inside a text as base64, and puts one line in the place of each. Pure. */

/** Characters of base64 below which it costs the model less than the line in its place. */
const shortestData = 256;

/** First characters of the base64 of files that come up in tool results, and what they are. */
const fileStarts: readonly (readonly [string, string])[] = [
  ['iVBORw0KGg', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGODdh', 'image/gif'],
  ['R0lGODlh', 'image/gif'],
  ['UklGR', 'image/webp or audio'],
  ['JVBERi', 'application/pdf'],
  ['UEsDB', 'application/zip'],
  ['H4sIA', 'application/gzip'],
];

/** `data:` addresses, and runs of base64 that begin as a known file does. */
const dataPattern = new RegExp(
  `data:([\\w.+-]+/[\\w.+-]+)?(?:;[\\w.+-]+=[\\w.+-]+)*;base64,([A-Za-z0-9+/_=-]{${shortestData},})` +
    `|(?<![A-Za-z0-9+/])((?:${fileStarts.map(([start]) => start.replaceAll(/[+/]/g, '\\$&')).join('|')})[A-Za-z0-9+/]{${shortestData},}={0,2})`,
  'g',
);

export function withoutInlinedBytes(text: string): string {
  return text.replaceAll(dataPattern, (_all, type?: string, data?: string, bare?: string) => {
    if (bare === undefined) return inlinedLine(type ?? 'unknown type', data ?? '');
    return inlinedLine(fileStarts.find(([start]) => bare.startsWith(start))?.[1] ?? 'unknown type', bare);
  });
}

function inlinedLine(type: string, data: string): string {
  return `[${type}, ${base64Bytes(data)} bytes: not shown]`;
}

/** Bytes that a base64 text stands for. */
export function base64Bytes(data: unknown): number {
  if (typeof data !== 'string') return 0;
  let end = data.length;
  while (end > 0 && data.charAt(end - 1) === '=') end -= 1;
  return Math.floor((end * 3) / 4);
}
