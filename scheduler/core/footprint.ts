/**
 * What the context of a run weighs in a replica's KV memory (`residency`): while a turn is in flight its
 * prompt and expected output, while the run is paused the prompt and output of its last turn. Several turns
 * at once weigh as the largest of them.
 */
import type { TurnReport } from './events.ts';
import type { Context } from './ledger.ts';
import type { Replica, Run, Turn } from './state.ts';

/** As it was estimated when the turn came, so that a held turn does not grow or shrink while it waits. */
type Estimated = Pick<Turn, 'spec' | 'promptRatio' | 'expectedOutputTokens'>;

/** Prompt tokens of a turn as the engine of `replica` will probably count them. */
export function expectedPrompt(turn: Estimated, replica: Replica): number {
  return turn.spec.promptTokens * (turn.promptRatio ?? replica.promptRatio);
}

export function footprintOf(turn: Estimated, replica: Replica): number {
  return Math.round(expectedPrompt(turn, replica) + turn.expectedOutputTokens);
}

/** What a turn that has ended left in the engine's cache. */
export function leftContext(turn: Turn, report: TurnReport): Context {
  const { usage } = report;
  const tokens = usage === undefined ? turn.footprintTokens : usage.promptTokens + usage.completionTokens;
  return { tokens, prefix: turn.spec.prefix };
}

/** The tokens that the run left on `replica`, when this turn goes on with that conversation; null: it does not. */
export function leftFor(run: Run, turn: Turn, replica: Replica): number | null {
  const { pausingOn, pausedContext } = run;
  if (pausingOn !== replica || pausedContext === null) return null;
  return goesOn(pausedContext.prefix, turn.spec.prefix) ? pausedContext.tokens : null;
}

/** Prefixes are rolling hashes: the last block of the earlier one stands for all before it. */
export function goesOn(earlier: readonly string[], later: readonly string[]): boolean {
  const last = earlier.length - 1;
  return last < 0 || earlier[last] === later[last];
}
