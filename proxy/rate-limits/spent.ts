/** What an attempt's end has cost of its caller's limits. Pure. */
import type { RelayResult } from '../forward/relay.ts';
import type { TurnReport } from '../link/ticket.ts';
import type { Spent } from './rate-limiter.ts';

/**
 * @param promptTokens the estimate, which stands where an engine had the turn and told nothing.
 * @returns null when no engine has worked on it: it was not reached, or refused.
 */
export function spentOf(result: RelayResult, told: TurnReport, promptTokens: number): Spent | null {
  if (told.usage !== undefined && told.usage !== null) return told.usage;
  switch (result.kind) {
    case 'unreachable':
    case 'kept':
      return null;
    case 'passed':
      return result.status < 400 ? { promptTokens, completionTokens: 0 } : null;
    default:
      return { promptTokens, completionTokens: 0 };
  }
}
