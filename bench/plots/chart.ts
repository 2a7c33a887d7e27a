/**
 * A chart of lines as the text of an SVG: axes, a legend, limits as dashed lines. It has a background of its own
 * and follows the reader's light or dark scheme; lines differ in colour and in dashes. No fonts, no scripts, no
 * links. Pure: equal specs give equal bytes.
 */
import { placeOf, rangeOf, ticksOf, tickText, type AxisRange } from './ticks.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Series {
  readonly name: string;
  /** In order of x. Points that an axis has no place for are left out. */
  readonly points: readonly Point[];
  /** Mark each point; default: the line alone. */
  readonly dots?: boolean;
}

export interface Axis {
  readonly label: string;
  readonly scale?: 'linear' | 'log';
  /** Begin at 0 though no value is near it; a linear axis only. Default true. */
  readonly fromZero?: boolean;
}

export interface ChartSpec {
  readonly title: string;
  /** What one must know to read it, such as machine and date. */
  readonly note?: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Lines across at a value of y, such as a bound. */
  readonly limits?: readonly { readonly y: number; readonly label: string }[];
}

const width = 760;
const height = 420;
const left = 72;
const right = 24;
const bottom = 56;
const titleHeight = 34;
const legendRowHeight = 20;
const legendColumns = 3;

/** Okabe and Ito's colours without yellow and black: told apart by most eyes, on white and on dark grey. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00'];
const dashes = ['', '7 3', '2 3', '10 3 2 3'];

const style = `
  .paper{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}.axis{stroke:#59636e}.limit{stroke:#59636e}
  text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:13px}.title{font-size:16px;font-weight:600}
  @media (prefers-color-scheme: dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.soft{fill:#9198a1}.grid{stroke:#30363d}.axis{stroke:#9198a1}.limit{stroke:#9198a1}}
`;

interface Frame {
  readonly x: AxisRange;
  readonly y: AxisRange;
  readonly top: number;
}

export function chartSvg(spec: ChartSpec): string {
  const legendRows = Math.ceil(spec.series.length / legendColumns);
  const points = spec.series.flatMap((series) => series.points);
  const limits = spec.limits ?? [];
  const frame: Frame = {
    x: rangeOf(
      points.map(({ x }) => x),
      spec.x.scale ?? 'linear',
      spec.x.fromZero ?? true,
    ),
    y: rangeOf(
      [...points.map(({ y }) => y), ...limits.map(({ y }) => y)],
      spec.y.scale ?? 'linear',
      spec.y.fromZero ?? true,
    ),
    top: titleHeight + legendRows * legendRowHeight + 14,
  };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(spec.title)}">`,
    `<style>${style}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    text({ x: 16, y: 24, class: 'ink title' }, spec.title),
    ...legend(spec.series),
    ...grid(spec, frame),
    ...limits.map((limit) => limitLine(limit, frame)),
    ...spec.series.map((series, index) => line(series, index, frame)),
    ...(spec.note === undefined ? [] : [text({ x: 16, y: height - 8, class: 'soft' }, spec.note)]),
    '</svg>',
    '',
  ].join('\n');
}

function legend(series: readonly Series[]): readonly string[] {
  const columnWidth = (width - 32) / legendColumns;
  return series.map(({ name }, index) => {
    const x = 16 + (index % legendColumns) * columnWidth;
    const y = titleHeight + Math.floor(index / legendColumns) * legendRowHeight + 10;
    return `<line x1="${x}" y1="${y}" x2="${x + 26}" y2="${y}" ${stroke(index)}/>${text({ x: x + 32, y: y + 4, class: 'ink' }, name)}`;
  });
}

function grid(spec: ChartSpec, frame: Frame): readonly string[] {
  const { x, y, top } = frame;
  const xs = ticksOf(x).map((value) => {
    const at = placeX(value, frame);
    return `<line class="grid" x1="${at}" y1="${top}" x2="${at}" y2="${height - bottom}"/>${text({ x: at, y: height - bottom + 17, class: 'soft', anchor: 'middle' }, tickText(value))}`;
  });
  const ys = ticksOf(y).map((value) => {
    const at = placeY(value, frame);
    return `<line class="grid" x1="${left}" y1="${at}" x2="${width - right}" y2="${at}"/>${text({ x: left - 8, y: (at ?? 0) + 4, class: 'soft', anchor: 'end' }, tickText(value))}`;
  });
  const middle = (top + height - bottom) / 2;
  return [
    ...xs,
    ...ys,
    `<path class="axis" fill="none" d="M${left} ${top}V${height - bottom}H${width - right}"/>`,
    text(
      { x: (left + width - right) / 2, y: height - bottom + 34, class: 'soft', anchor: 'middle' },
      spec.x.label,
    ),
    `<g transform="rotate(-90 18 ${middle})">${text({ x: 18, y: middle, class: 'soft', anchor: 'middle' }, spec.y.label)}</g>`,
  ];
}

function limitLine({ y, label }: { readonly y: number; readonly label: string }, frame: Frame): string {
  const at = placeY(y, frame);
  return `<line class="limit" stroke-dasharray="3 4" x1="${left}" y1="${at}" x2="${width - right}" y2="${at}"/>${text({ x: width - right - 4, y: (at ?? 0) - 5, class: 'soft', anchor: 'end' }, label)}`;
}

function line({ points, dots = false }: Series, index: number, frame: Frame): string {
  const places = points.flatMap(({ x, y }) => {
    const at = { x: placeX(x, frame), y: placeY(y, frame) };
    return at.x === null || at.y === null ? [] : [`${at.x} ${at.y}`];
  });
  const path = places.length === 0 ? '' : `<path fill="none" ${stroke(index)} d="M${places.join('L')}"/>`;
  if (!dots) return path;
  const colour = colours[index % colours.length] ?? '';
  return (
    path + places.map((at) => `<circle r="3.5" fill="${colour}" transform="translate(${at})"/>`).join('')
  );
}

function stroke(index: number): string {
  const dash = dashes[index % dashes.length] ?? '';
  return `stroke="${colours[index % colours.length] ?? ''}" stroke-width="2" stroke-linejoin="round"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}`;
}

function placeX(value: number, { x }: Frame): number | null {
  const place = placeOf(value, x);
  return place === null ? null : tenths(left + place * (width - left - right));
}

function placeY(value: number, { y, top }: Frame): number | null {
  const place = placeOf(value, y);
  return place === null ? null : tenths(height - bottom - place * (height - bottom - top));
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

interface TextPlace {
  readonly x: number | null;
  readonly y: number;
  readonly class: string;
  readonly anchor?: 'middle' | 'end';
}

function text({ x, y, class: names, anchor }: TextPlace, content: string): string {
  return `<text class="${names}" x="${x ?? 0}" y="${y}"${anchor === undefined ? '' : ` text-anchor="${anchor}"`}>${escaped(content)}</text>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Also without what XML 1.0 cannot hold at all. */
function escaped(content: string): string {
  return content
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replaceAll(/[&<>"]/g, (character) => entities[character] ?? '');
}
