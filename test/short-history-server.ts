/**
 * A Temporal server that asks for a new execution every forty events, as a real one does every four
 * thousand: what happens to long runs happens to short ones there.
 */
import { inject } from 'vitest';
import { startTemporalServer, type TemporalServer } from '../cli/temporal-server.ts';

export async function startShortHistoryServer(): Promise<TemporalServer> {
  return await startTemporalServer({
    binary: inject('temporalBinary'),
    host: '127.0.0.1',
    port: 0,
    uiPort: null,
    databaseFile: null,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': '40' },
  });
}
