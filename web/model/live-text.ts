/** The text of a turn at work, put together from what comes of it. Pure. */
import type { LiveAnswer } from '../api/types.ts';

export interface LiveTurnState {
  readonly turn: number;
  readonly phase: 'asked' | 'writing';
  readonly text: string;
  /** Tools that it begins to call. */
  readonly calls: readonly string[];
}

/** UTF-16 units of text that are kept; the newest. */
const longestText = 200_000;

/** A text that is not the continuation of what is known takes its place. */
export function joined(before: LiveTurnState | null, live: NonNullable<LiveAnswer['live']>): LiveTurnState {
  const { turn, phase, calls, offset, text } = live;
  const continues = before !== null && before.turn === turn && offset > 0;
  return { turn, phase, calls, text: `${continues ? before.text : ''}${text}`.slice(-longestText) };
}
