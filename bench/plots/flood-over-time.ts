/** Runs a minute over the time of a flood, one line an arm. Pure. */
import type { ChartSpec } from './chart.ts';
import { rateOverTime } from './series.ts';

export interface FloodOverTime {
  readonly title: string;
  readonly note: string;
  /** Of the window's end; warm-up included, as in the times. */
  readonly endMs: number;
  /** When the runs of an arm ended, in ms after the start. */
  readonly arms: readonly { readonly name: string; readonly endedAtMs: readonly number[] }[];
}

const windowMs = 20_000;
const stepMs = 2_000;

export function floodOverTime({ title, note, endMs, arms }: FloodOverTime): ChartSpec {
  return {
    title,
    note,
    x: { label: 'seconds after the start' },
    y: { label: `runs/min over the last ${windowMs / 1_000} s` },
    series: arms.map(({ name, endedAtMs }) => rateOverTime(name, endedAtMs, { endMs, windowMs, stepMs })),
  };
}
