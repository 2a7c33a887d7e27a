import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chartSvg, type ChartSpec } from '../../../bench/plots/chart.ts';
import { distribution, rateOverTime } from '../../../bench/plots/series.ts';

const spec: ChartSpec = {
  title: 'Runs a minute',
  note: '2 cores, 2026-11-30',
  x: { label: 'seconds' },
  y: { label: 'runs/min' },
  series: [
    { name: 'fermata', points: [0, 10, 20].map((x) => ({ x, y: x * 2 })), dots: true },
    { name: 'another', points: [0, 10, 20].map((x) => ({ x, y: x })) },
  ],
  limits: [{ y: 50, label: 'what memory allows' }],
};

/** The tags of a document whose elements close in order; throws otherwise. */
function elementsOf(xml: string): string[] {
  const open: string[] = [];
  const seen: string[] = [];
  let roots = 0;
  for (const match of xml.matchAll(
    /<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)\s*(\/?)>|([^<]+)|(<)/g,
  )) {
    const [whole, closing, name = '', , empty, content, stray] = match;
    if (stray !== undefined)
      throw new Error(`a stray < at ${match.index}: ${xml.slice(match.index, match.index + 60)}`);
    if (content !== undefined) {
      if (/&(?!amp;|lt;|gt;|quot;)/.test(content)) throw new Error(`a stray & in ${content}`);
      continue;
    }
    if (closing === '/') {
      if (open.pop() !== name) throw new Error(`${whole} closes nothing`);
      continue;
    }
    if (open.length === 0) roots += 1;
    seen.push(name);
    if (empty !== '/') open.push(name);
  }
  if (open.length > 0 || roots !== 1) throw new Error(`left open: ${open.join(' ')}, roots: ${roots}`);
  return seen;
}

/** Every number that places something. */
function coordinates(svg: string): number[] {
  const attributes = [...svg.matchAll(/\b(?:x|y|x1|x2|y1|y2|cx|cy|d|transform)="([^"]*)"/g)];
  return attributes.flatMap(([, value = '']) => [...value.matchAll(/-?[\d.]+|NaN|Infinity/g)].map(Number));
}

describe('a chart', () => {
  it('is one whole document that shows its title, note, axes, series and limits', () => {
    const svg = chartSvg(spec);
    const elements = elementsOf(svg);
    expect(elements.filter((name) => name === 'circle')).toHaveLength(3);
    for (const words of [
      'Runs a minute',
      '2 cores, 2026-11-30',
      'seconds',
      'runs/min',
      'fermata',
      'another',
      'what memory allows',
    ]) {
      expect(svg).toContain(`>${words}</text>`);
    }
  });

  it('puts greater values higher and later ones to the right', () => {
    const [path = ''] = /(?<=d="M)[\d. L]+(?="\/><circle)/.exec(chartSvg(spec)) ?? [];
    const places = path.split('L').map((pair) => pair.split(' ').map(Number));
    expect(places).toHaveLength(3);
    for (const [index, [x = 0, y = 0]] of places.entries()) {
      const [nextX = Infinity, nextY = -Infinity] = places[index + 1] ?? [];
      expect(nextX).toBeGreaterThan(x);
      expect(nextY).toBeLessThan(y);
    }
  });

  it('can be read on light and on dark, and loads nothing', () => {
    const svg = chartSvg(spec);
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).toMatch(/<rect class="paper"/);
    expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|<script|href/);
  });

  it('draws series apart by dashes too', () => {
    const dashes = [...chartSvg(spec).matchAll(/stroke-dasharray="(7 3)"/g)];
    expect(dashes.length).toBeGreaterThan(0);
  });

  it('stays whole and within its picture whatever it is given', () => {
    const point = fc.record({ x: fc.double(), y: fc.double() });
    const anySpec = fc.record({
      title: fc.string({ unit: 'binary' }),
      note: fc.string(),
      x: fc.record({ label: fc.string(), scale: fc.constantFrom('linear' as const, 'log' as const) }),
      y: fc.record({ label: fc.string(), scale: fc.constantFrom('linear' as const, 'log' as const) }),
      series: fc.array(fc.record({ name: fc.string(), points: fc.array(point), dots: fc.boolean() }), {
        maxLength: 9,
      }),
    });
    fc.assert(
      fc.property(anySpec, (given) => {
        const svg = chartSvg(given);
        elementsOf(svg);
        for (const value of coordinates(svg)) {
          expect(value).toBeGreaterThanOrEqual(-90);
          expect(value).toBeLessThanOrEqual(760);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a distribution', () => {
  it('rises to 100 % at the greatest sample, whatever the order', () => {
    expect(distribution('a', [30, 10, 20, 40]).points).toEqual([
      { x: 10, y: 25 },
      { x: 20, y: 50 },
      { x: 30, y: 75 },
      { x: 40, y: 100 },
    ]);
  });

  it('keeps its quantiles when it is thinned', () => {
    const { points } = distribution(
      'a',
      Array.from({ length: 10_000 }, (_, index) => index + 1),
    );
    expect(points).toHaveLength(200);
    expect(points[99]).toEqual({ x: 5_000, y: 50 });
    expect(points.at(-1)).toEqual({ x: 10_000, y: 100 });
  });

  it('of nothing is empty', () => {
    expect(distribution('a', []).points).toEqual([]);
  });
});

it('counts events a minute in a window that slides', () => {
  const series = rateOverTime('a', [500, 1_500, 2_500, 9_500], {
    endMs: 10_000,
    windowMs: 5_000,
    stepMs: 2_500,
  });
  expect(series.points).toEqual([
    { x: 5, y: 36 },
    { x: 7.5, y: 0 },
    { x: 10, y: 12 },
  ]);
});
