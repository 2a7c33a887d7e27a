/** Reads the transcripts of ended runs from their own workflows, by query. */
import { Client, Connection } from '@temporalio/client';
import { transcriptQuery } from '../../contracts/run-names.ts';
import type { TranscriptMessage } from './verdict.ts';

const sideBySide = 8;
const tries = 5;

/** Those that cannot be read are left out. */
export async function readTranscripts(
  temporalAddress: string,
  handles: readonly string[],
): Promise<Map<string, readonly TranscriptMessage[]>> {
  const connection = await Connection.connect({ address: temporalAddress });
  const { workflow } = new Client({ connection });
  const transcripts = new Map<string, readonly TranscriptMessage[]>();
  const open = [...handles];
  const read = async (handle: string): Promise<void> => {
    for (let attempt = 1; attempt <= tries; attempt += 1) {
      try {
        transcripts.set(handle, await workflow.getHandle(handle).query<TranscriptMessage[]>(transcriptQuery));
        return;
      } catch {
        // Tried again at once: a query waits long enough by itself.
      }
    }
  };
  try {
    await Promise.all(
      Array.from({ length: sideBySide }, async () => {
        for (let handle = open.pop(); handle !== undefined; handle = open.pop()) await read(handle);
      }),
    );
  } finally {
    await connection.close();
  }
  return transcripts;
}
