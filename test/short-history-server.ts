/**
 * A Temporal server that asks for a new execution every forty events, as a real one does every four
 * thousand: what happens to long runs happens to short ones there.
 */
import { startOwnTemporal, type OwnTemporal } from './own-temporal.ts';

export async function startShortHistoryServer(): Promise<OwnTemporal> {
  return await startOwnTemporal({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': '40' } });
}
