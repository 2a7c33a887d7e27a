/**
 * What the signals of `fermata up` mean. SIGINT and SIGTERM ask for the end, a second one ends at once.
 * SIGHUP asks to read the files again where there are any; it asks for the end without them, and when it
 * is sent because the terminal was closed.
 */
import { isatty } from 'node:tty';

/**
 * @param reload null: there is nothing to read again.
 * @returns resolves with null when the end is asked for.
 */
export async function waitForStop(reload: (() => void) | null): Promise<null> {
  const atTerminal = hasTerminal();
  return await new Promise((resolveSignal) => {
    let count = 0;
    const onStop = (): void => {
      count += 1;
      if (count > 1) process.exit(130);
      resolveSignal(null);
    };
    process.on('SIGINT', onStop);
    process.on('SIGTERM', onStop);
    process.on('SIGHUP', () => {
      const terminalClosed = atTerminal && !hasTerminal();
      if (reload === null || terminalClosed) onStop();
      else reload();
    });
  });
}

/** A terminal that was closed is none any more. */
function hasTerminal(): boolean {
  return isatty(0) || isatty(1) || isatty(2);
}
