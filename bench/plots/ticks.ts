/** Where an axis puts its marks, and how values become places on it. Pure. */

export interface AxisRange {
  readonly scale: 'linear' | 'log';
  readonly from: number;
  readonly to: number;
}

/** What is larger, or smaller and not 0, has no place on any axis. */
const largest = 1e100;
/** A linear axis is never shorter than this share of what it shows, or its ticks could not be told apart. */
const shortestShare = 1e-9;

function hasPlace(value: number, scale: AxisRange['scale']): boolean {
  if (value === 0) return scale === 'linear';
  const size = Math.abs(value);
  return size >= 1 / largest && size <= largest && (scale === 'linear' || value > 0);
}

/** A range that holds all values and ends at round numbers; of nothing, or of one value, it is still one. */
export function rangeOf(values: readonly number[], scale: AxisRange['scale'], fromZero: boolean): AxisRange {
  const known = values.filter((value) => hasPlace(value, scale));
  const lowest = known.length === 0 ? 1 : Math.min(...known);
  const highest = known.length === 0 ? 1 : Math.max(...known);
  if (scale === 'log') {
    const from = roundDown(lowest);
    const to = roundUp(highest);
    return { scale, from, to: to > from ? to : from * 10 };
  }
  const from = fromZero ? Math.min(0, lowest) : lowest;
  const size = Math.max(Math.abs(from), Math.abs(highest));
  const span = Math.max(highest - from, shortestShare * size);
  const step = tickStep(highest > from ? span : size || 1);
  return {
    scale,
    from: Math.floor(from / step) * step,
    to: Math.max(Math.ceil(highest / step), Math.floor(from / step) + 1) * step,
  };
}

const wantedSteps = 5;
const roundFactors = [1, 2, 5, 10];

function tickStep(span: number): number {
  const power = 10 ** Math.floor(Math.log10(span / wantedSteps));
  const factor = roundFactors.find((one) => one * power >= span / wantedSteps) ?? 10;
  return factor * power;
}

function roundDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (roundFactors.findLast((one) => one * power <= value) ?? 1) * power;
}

function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (roundFactors.find((one) => one * power >= value) ?? 10) * power;
}

/** Round values within the range, rising, two at least. */
export function ticksOf({ scale, from, to }: AxisRange): readonly number[] {
  if (scale === 'linear') {
    const step = tickStep(to - from);
    const first = Math.ceil(from / step - 1e-9);
    const count = Math.floor(to / step + 1e-9) - first + 1;
    const ticks = Array.from({ length: count }, (_, index) => rounded((first + index) * step));
    return ticks.length >= 2 ? ticks : [from, to];
  }
  const factors = to / from > 1_000 ? [1] : [1, 2, 5];
  const first = Math.floor(Math.log10(from));
  const last = Math.ceil(Math.log10(to));
  const all = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)).flatMap((power) =>
    factors.map((factor) => rounded(factor * power)),
  );
  const within = all.filter((value) => value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9));
  return within.length >= 2 ? within : [from, to];
}

function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

/** @returns 0 at the range's start, 1 at its end; null where the scale has no place for it. */
export function placeOf(value: number, { scale, from, to }: AxisRange): number | null {
  if (!hasPlace(value, scale)) return null;
  return scale === 'log' ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
}

/** As it stands at a tick: `0.05`, `300`, `1,200`. */
export function tickText(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
}
