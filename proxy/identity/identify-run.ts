/** Decides which run a turn belongs to. Pure but for the drawing of a new id, which is handed in. */
import type { RunId } from '../../contracts/ids.ts';
import type { Conversation } from './conversation.ts';
import type { IdentityHeaders } from './identity-headers.ts';
import type { RecognisedBy, RunMemory } from './run-memory.ts';
import { ownerKey, runNameOf, scopedRun, type RunName } from './scoped-run.ts';

export interface IdentifiedRun {
  readonly run: RunId;
  /** As its client names it, and may name it again. */
  readonly name: RunName;
  readonly by: 'header' | 'session' | RecognisedBy | 'new';
}

/**
 * In this order: the run header; a known agent's session header; the tool calls whose results the
 * request sends back; a beginning of its conversation that was answered before; else a new run.
 */
export function identifyRun(
  headers: IdentityHeaders,
  conversation: Conversation,
  memory: RunMemory,
  drawRun: () => RunName,
  nowMs: number,
): IdentifiedRun {
  if (headers.run !== null) return named(headers, headers.run, 'header');
  if (headers.sessionRun !== null) return named(headers, headers.sessionRun, 'session');
  const found = memory.find(ownerKey(headers), conversation, nowMs);
  const name = found === null ? null : runNameOf(headers, found.run);
  return found === null || name === null ? named(headers, drawRun(), 'new') : { ...found, name };
}

function named(headers: IdentityHeaders, name: RunName, by: IdentifiedRun['by']): IdentifiedRun {
  return { run: scopedRun(headers, name), name, by };
}
