/**
 * Reads the Prometheus text format, leniently: a line that is not a sample is skipped. Pure. Families are
 * matched by their exact name, since `..._created` and the like share a beginning.
 */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  /** May be NaN or infinite, as written. */
  readonly value: number;
}

export type Families = ReadonlyMap<string, readonly Sample[]>;

const namePattern = /^[A-Za-z_:][A-Za-z0-9_:]*/;
const labelPattern = /\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?/y;

/** All samples of `text` by family, for the families in `wanted`. */
export function parseFamilies(text: string, wanted: ReadonlySet<string>): Families {
  const families = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const name = namePattern.exec(line)?.[0];
    if (name === undefined || !wanted.has(name)) continue;
    const sample = parseSample(line.slice(name.length));
    if (sample === null) continue;
    const samples = families.get(name);
    if (samples === undefined) families.set(name, [sample]);
    else samples.push(sample);
  }
  return families;
}

/** What follows the name: labels or none, the value, perhaps a time stamp or an exemplar. */
function parseSample(rest: string): Sample | null {
  const labels: Record<string, string> = {};
  let at = 0;
  if (rest.trimStart().startsWith('{')) {
    at = rest.indexOf('{') + 1;
    for (;;) {
      labelPattern.lastIndex = at;
      const match = labelPattern.exec(rest);
      if (match === null) break;
      labels[match[1] ?? ''] = unescapeLabel(match[2] ?? '');
      at = labelPattern.lastIndex;
    }
    const end = /^\s*\}/.exec(rest.slice(at));
    if (end === null) return null;
    at += end[0].length;
  }
  const token = /^\s*(\S+)/.exec(rest.slice(at))?.[1];
  const value = token === undefined ? null : parseValue(token);
  return value === null ? null : { labels, value };
}

function parseValue(token: string): number | null {
  if (/^[+-]?inf(inity)?$/i.test(token)) return token.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(token)) return Number.NaN;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(token) ? Number(token) : null;
}

function unescapeLabel(text: string): string {
  return text.replaceAll(/\\(.)/g, (_match, character: string) => (character === 'n' ? '\n' : character));
}
