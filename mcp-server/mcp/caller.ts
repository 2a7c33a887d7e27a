/**
 * Who asks, for fairness and for the list of one's own runs: the MCP session of a sessionful client,
 * else its name and address. Not a proof of anything: without tokens every caller is trusted.
 */
import { anonymousCaller, type Caller } from '../../contracts/ids.ts';

export interface CallerSource {
  /** MCP session id; only clients of the sessionful era have one. */
  readonly sessionId?: string | undefined;
  readonly clientName?: string | undefined;
  /** IP address of the client, or `stdio`. */
  readonly address?: string | undefined;
}

const maxCallerBytes = 128;

/** The caller travels in HTTP headers, so it is kept to printable ASCII; it is at most 128 bytes. */
export function callerOf(source: CallerSource): Caller {
  const name = source.clientName?.trim() ?? '';
  const text = source.sessionId ?? (name === '' ? '' : `${name}@${source.address ?? 'unknown'}`);
  const printable = text
    .replaceAll(/[^\x20-\x7e]/gu, '?')
    .trim()
    .slice(0, maxCallerBytes)
    .trimEnd();
  return printable === '' ? anonymousCaller : (printable as Caller);
}
