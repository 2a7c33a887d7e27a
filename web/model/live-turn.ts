/** Follows the text of a turn at work. Each question is answered when there is more, or after a while. */
import { get } from '../api/request.ts';
import type { LiveAnswer } from '../api/types.ts';
import { joined, type LiveTurnState } from './live-text.ts';

export interface LiveTurnHandlers {
  /** null: no turn is at work, or nobody can tell. */
  readonly onState: (state: LiveTurnState | null) => void;
  readonly onTurn: () => void;
}

const waitSeconds = 10;
const pauseMs = 1_000;

export async function followTurn(
  handle: string,
  { onState, onTurn }: LiveTurnHandlers,
  signal: AbortSignal,
): Promise<void> {
  let known: Known | null = null;
  while (!signal.aborted) {
    const before: Known | null = known;
    const now: Known | null = await askOnce(handle, before, signal).catch(() => null);
    if (signal.aborted) return;
    known = now;
    onState(now?.state ?? null);
    if (before?.state.turn !== now?.state.turn) onTurn();
    if (now === null) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

interface Known {
  readonly state: LiveTurnState;
  /** Of what has been written. */
  readonly offset: number;
}

async function askOnce(handle: string, known: Known | null, signal: AbortSignal): Promise<Known | null> {
  const query = new URLSearchParams({ waitSeconds: String(waitSeconds) });
  if (known !== null) {
    query.set('turn', String(known.state.turn));
    query.set('offset', String(known.offset));
  }
  const { live } = await get<LiveAnswer>(`runs/${handle}/live?${query}`, { signal });
  if (live === null) return null;
  return { state: joined(known?.state ?? null, live), offset: live.offset + live.text.length };
}
