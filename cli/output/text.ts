/** Small pieces of text for people: columns, durations, counts. Pure. */
import { stripVTControlCharacters } from 'node:util';

/** Left-aligned columns; trailing blanks are left out. Styled cells count by what is seen of them. */
export function alignColumns(rows: readonly (readonly string[])[], gap = '  '): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, seenLength(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell + ' '.repeat(Math.max(0, (widths[index] ?? 0) - seenLength(cell))))
      .join(gap)
      .trimEnd(),
  );
}

function seenLength(cell: string): number {
  return Array.from(stripVTControlCharacters(cell)).length;
}

/** What came from elsewhere is one line, and cannot steer the terminal. */
export function oneLine(text: string, limit = 200): string {
  const line = withoutControls(text.replaceAll(/\s+/g, ' ').trim());
  const points = Array.from(line);
  return points.length <= limit ? line : `${points.slice(0, Math.max(1, limit - 1)).join('')}…`;
}

/** Keeps line breaks and tabs; takes out what a terminal would obey. */
export function withoutControls(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '');
}

/** `850 ms`, `12.4 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `950`, `12.3k`, `4.5M`. */
export function count(value: number): string {
  if (value < 10_000) return String(Math.round(value));
  if (value < 999_950) return `${(value / 1_000).toFixed(1)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? '' : 's'}`;
}
