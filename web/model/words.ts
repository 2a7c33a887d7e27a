/** Numbers and times as people read them. Pure. */

/** `840 ms`, `3.2 s`, `2 min 05 s`, `1 h 12 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1_000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `950`, `12.3k`, `4.5M`. */
export function count(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  for (const [size, unit] of [
    [1_000, 'k'],
    [1_000_000, 'M'],
    [1_000_000_000, 'G'],
  ] as const) {
    if (value < size * 999.5) return `${trim((value / size).toPrecision(3))}${unit}`;
  }
  return `${trim((value / 1e12).toPrecision(3))}T`;
}

function trim(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

export function bytes(value: number): string {
  return value < 1_024
    ? `${value} B`
    : value < 1_048_576
      ? `${(value / 1_024).toFixed(1)} KiB`
      : `${(value / 1_048_576).toFixed(1)} MiB`;
}

// Made once: a thousand rows show a time each.
const timeFormat = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const dayFormat = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** The time of day; with the day when it is another one. */
export function clock(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const time = timeFormat.format(at);
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${dayFormat.format(at)} ${time}`;
}

/** Milliseconds from its start to its end, or until now. */
export function lasted(
  { startedAt, endedAt }: { readonly startedAt: string; readonly endedAt: string | null },
  nowMs: number,
): number {
  return Math.max(0, (endedAt === null ? nowMs : Date.parse(endedAt)) - Date.parse(startedAt));
}

export function plural(many: number, one: string, more = `${one}s`): string {
  return `${many} ${many === 1 ? one : more}`;
}

/** Share of the prompt tokens that engines had cached, in percent; null: none were sent. */
export function cachedShare({
  promptTokens,
  cachedTokens,
}: {
  readonly promptTokens: number;
  readonly cachedTokens: number;
}): number | null {
  return promptTokens === 0 ? null : Math.round((100 * cachedTokens) / promptTokens);
}
