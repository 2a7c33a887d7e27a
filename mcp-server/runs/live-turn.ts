/**
 * What the model of a run writes now, asked from the worker that its turn is at: Temporal tells which one,
 * and a worker's name tells where its HTTP server is. Best effort: a worker that cannot be reached from
 * here, or of a version without it, is told of like a run without a turn.
 */
import { z } from 'zod';
import type { Handle } from '../../contracts/ids.ts';
import { AbortScope } from './abort-scope.ts';
import type { TemporalLink } from './temporal-link.ts';

export const liveTurnSchema = z.object({
  turn: z.int().describe('Counts from 1.'),
  phase: z.enum(['asked', 'writing']).describe('asked: it is held, or the engine has not begun to answer.'),
  offset: z.int().describe('Place of `text` in all that it has written, in UTF-16 units.'),
  text: z.string().describe('At most 64,000 of them; the rest comes with the next answer.'),
  calls: z.array(z.string()).describe('Tools that it begins to call.'),
});
export type LiveTurn = z.infer<typeof liveTurnSchema>;

const answerSchema = z.object({ live: liveTurnSchema.nullable() });

export interface LiveTurnRequest {
  /** What of it is known; null: nothing. */
  readonly known: { readonly turn: number; readonly offset: number } | null;
  /** Milliseconds that the worker may wait for more than that. */
  readonly waitMs: number;
}

/** Milliseconds that a worker has to answer, beside those that it may wait. */
const answerMs = 2_000;
const maxBytes = 1_000_000;

/** @param token what the services send to each other; null: nothing. @returns null: none can be told of. */
export async function readLiveTurn(
  { temporal, token }: { readonly temporal: TemporalLink; readonly token: string | null },
  handle: Handle,
  request: LiveTurnRequest,
  signal: AbortSignal,
): Promise<LiveTurn | null> {
  const { raw } = await temporal.call((client) => client.workflow.getHandle(handle).describe());
  const turn = (raw.pendingActivities ?? []).find(({ activityType }) => activityType?.name === 'modelTurn');
  const worker = addressOf(turn?.lastWorkerIdentity ?? '');
  if (worker === null) return null;
  const query = new URLSearchParams({ waitMs: String(request.waitMs) });
  if (request.known !== null) {
    query.set('turn', String(request.known.turn));
    query.set('offset', String(request.known.offset));
  }
  const either = new AbortScope(signal, AbortSignal.timeout(request.waitMs + answerMs));
  try {
    const response = await fetch(`${worker}/live/${handle}?${query.toString()}`, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: either.signal,
    });
    const text = await response.text();
    if (!response.ok || text.length > maxBytes) return null;
    return answerSchema.parse(JSON.parse(text)).live;
  } catch {
    signal.throwIfAborted();
    return null;
  } finally {
    either.end();
  }
}

/** Pure. `4711@host http://10.0.0.7:9464`; null: it does not tell. */
export function addressOf(identity: string): string | null {
  return /^\S+@\S+ (http:\/\/[A-Za-z0-9.:[\]-]+:\d{1,5})$/.exec(identity)?.[1] ?? null;
}
