/** Writes the histories of some runs into a folder, to be read when a bar was missed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';

/** One `history-HANDLE.json` a run; those that cannot be read are left out. */
export async function keepHistories(
  temporalAddress: string,
  folder: string,
  handles: readonly string[],
): Promise<void> {
  const connection = await Connection.connect({ address: temporalAddress });
  const { workflow } = new Client({ connection });
  try {
    for (const handle of new Set(handles)) {
      const history = await workflow
        .getHandle(handle)
        .fetchHistory()
        .catch(() => null);
      if (history === null) continue;
      await writeFile(join(folder, `history-${handle}.json`), JSON.stringify(history));
    }
  } finally {
    await connection.close();
  }
}
