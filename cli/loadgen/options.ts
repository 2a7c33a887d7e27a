/** What `fermata loadgen` was asked to do. Pure. */
import { CommandFault, exitCodes } from '../exit-codes.ts';

export interface AgentsLoad {
  readonly agents: number;
  readonly durationMs: number;
  readonly serviceClass: 'interactive' | 'batch';
  readonly caller: string | null;
  /** null: the first that the proxy lists. */
  readonly model: string | null;
  /** Model turns of a run. */
  readonly turns: number;
  /** Between two turns of a run, as a tool call would take. */
  readonly pauseMs: number;
  /** Tokens of the first prompt, about. */
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly seed: number;
}

const unitMs: Readonly<Record<string, number>> = {
  '': 1_000,
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

/** `90`, `90s`, `1.5m`, `250ms`. @throws CommandFault for anything else. */
export function parseDuration(option: string, text: string): number {
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?$/.exec(text.trim());
  const ms = Number(found?.[1]) * (unitMs[found?.[2] ?? ''] ?? Number.NaN);
  if (found !== null && Number.isFinite(ms) && ms <= 86_400_000) return ms;
  throw new CommandFault(
    `${option}: got '${text}', expected a time such as 60s or 5m, at most a day`,
    exitCodes.usage,
  );
}

/** @throws CommandFault when `value` is no whole number in the bounds. */
export function wholeNumber(option: string, value: number, lowest: number, highest: number): number {
  if (Number.isInteger(value) && value >= lowest && value <= highest) return value;
  throw new CommandFault(`${option}: expected a whole number from ${lowest} to ${highest}`, exitCodes.usage);
}
