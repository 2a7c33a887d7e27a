/** Replays stored histories against a bundle of the workflows, with the SDK's own replayer. */
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { installTemporalRuntime } from '../../activities/temporal-logger.ts';
import type { StoredHistory } from './stored-histories.ts';

/** @returns of each history that does not replay its name and why. */
export async function replayFaults(
  workflowBundle: { readonly code: string },
  histories: readonly StoredHistory[],
): Promise<ReadonlyMap<string, Error>> {
  installTemporalRuntime(pino({ level: 'silent' }));
  const faults = new Map<string, Error>();
  const given = histories.map(({ workflowId, events }) => ({ workflowId, history: { events } }));
  let index = 0;
  // The SDK takes parsed JSON too and converts it; its type names only its own messages.
  const results = Worker.runReplayHistories({ workflowBundle }, given as never);
  for await (const { error } of results) {
    if (error !== undefined) faults.set(histories[index]?.name ?? '', error);
    index += 1;
  }
  if (index !== histories.length) throw new Error(`${index} of ${histories.length} histories were replayed`);
  return faults;
}
