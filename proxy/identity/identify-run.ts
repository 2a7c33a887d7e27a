/** Decides which run a turn belongs to. Pure but for the drawing of a new id, which is handed in. */
import type { RunId } from '../../contracts/ids.ts';
import type { Conversation } from './conversation.ts';
import type { IdentityHeaders } from './identity-headers.ts';
import type { RecognisedBy, RunMemory } from './run-memory.ts';

export interface IdentifiedRun {
  readonly run: RunId;
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
  drawRun: () => RunId,
  nowMs: number,
): IdentifiedRun {
  if (headers.run !== null) return { run: headers.run, by: 'header' };
  if (headers.sessionRun !== null) return { run: headers.sessionRun, by: 'session' };
  return memory.find(headers.caller, conversation, nowMs) ?? { run: drawRun(), by: 'new' };
}
