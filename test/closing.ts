/**
 * What the test at hand has opened, to be closed when it is over: `close-opened.ts` does that after each test of
 * every file. A module that registered such a hook itself would do so once for all files that share it.
 */
const closing: (() => Promise<void> | void)[] = [];

/** Registers what must be closed after the test, last first. */
export function closeAfterTest(close: () => Promise<void> | void): void {
  closing.push(close);
}

/** @throws what the first that failed has thrown, once all have been tried. */
export async function closeOpened(): Promise<void> {
  const faults: unknown[] = [];
  for (const close of closing.splice(0).toReversed()) {
    try {
      await close();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}
