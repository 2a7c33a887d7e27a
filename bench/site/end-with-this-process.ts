/** What a benchmark has started ends with it, also when it is interrupted or stopped from outside. */

/** As {@link endWithThisProcess} needs it of a child. */
export interface Child {
  readonly pid: number;
  readonly exited: Promise<unknown>;
}

const alive = new Map<number, NodeJS.Signals>();
let guarded = false;

/**
 * @param signal what it is sent when this process is gone: SIGKILL, or SIGTERM to one that has processes of its
 *   own to end.
 */
export function endWithThisProcess(child: Child, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): void {
  alive.set(child.pid, signal);
  void child.exited.then(() => alive.delete(child.pid));
  if (guarded) return;
  guarded = true;
  process.once('exit', () => {
    for (const [pid, last] of alive) send(pid, last);
  });
  for (const interruption of ['SIGINT', 'SIGTERM'] as const) {
    process.once(interruption, () => {
      process.stderr.write(`interrupted by ${interruption}\n`);
      process.exit(1);
    });
  }
}

/**
 * Closes what a benchmark has in its own process, or is still starting there, when it is interrupted or stopped
 * from outside: Temporal's server is in a group of its own and outlives what does not close it.
 */
export function closeWhenInterrupted(starting: Promise<{ close(): Promise<void> }>): void {
  // That it could not be started is its starter's to hear.
  starting.catch(() => undefined);
  let interrupted = false;
  for (const interruption of ['SIGINT', 'SIGTERM'] as const) {
    // Ctrl-C reaches this process twice: from the terminal and from npm.
    process.on(interruption, () => {
      if (interrupted) return;
      interrupted = true;
      process.stderr.write(`interrupted by ${interruption}\n`);
      void starting
        .then(async (running) => await running.close())
        .catch(() => undefined)
        .finally(() => process.exit(1));
    });
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended.
  }
}
