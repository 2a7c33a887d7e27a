/**
 * Keeps one connection: opened at first use, shared by all, opened again after it was lost. One that fails
 * to open, or is lost soon after for the second time in a row, is tried again with growing waits. Who asks
 * for one that has been up before waits for it, if it is due soon; else they are told when it is tried.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { createRestartPolicy } from './restart-policy.ts';

export interface ConnectionKeeper {
  /** @throws Error when it cannot be opened, or failed so lately that it is not tried yet. */
  get(): Promise<Connection>;
  /** Runs one call on a connection; one that is retired ends with its last call. */
  use<T>(connection: Connection, work: () => Promise<T>): Promise<T>;
  /** Takes a connection out of use; the next `get` opens another, and calls on this one may still end. */
  retire(connection: Connection): void;
  /** Ends every connection, retired ones too. */
  close(): Promise<void>;
}

/** Longest that anyone waits for a restart to be due. */
const longestRestartWaitMs = 5_000;

/** @param open stops when its signal aborts. */
export function keepConnection(open: (signal: AbortSignal) => Promise<Connection>): ConnectionKeeper {
  let current: Connection | null = null;
  let opening: Promise<Connection> | null = null;
  const all = new Set<Connection>();
  const closing = new AbortController();
  const restarts = createRestartPolicy();
  let wasUp = false;

  const end = async (connection: Connection): Promise<void> => {
    connection.retired = true;
    await connection.client.close().catch(() => undefined);
    all.delete(connection);
  };
  const lose = (connection: Connection): void => {
    const { openedAtMs, retired, answered } = connection;
    const endedAtMs = connection.endedAtMs ?? performance.now();
    restarts.ended({ openedAtMs, endedAtMs, replaced: retired && answered });
    // A retired one ends with its last call.
    if (!retired) void end(connection);
  };
  const openNew = async (): Promise<Connection> => {
    await untilDue(restarts.waitMs(performance.now()), wasUp, closing.signal);
    try {
      const opened = await open(closing.signal);
      all.add(opened);
      current = opened;
      wasUp = true;
      restarts.opened();
      return opened;
    } catch (error) {
      restarts.openFailed(performance.now());
      throw error;
    }
  };
  return {
    async use(connection, work) {
      connection.calls += 1;
      try {
        const result = await work();
        connection.answered = true;
        return result;
      } finally {
        connection.calls -= 1;
        if (connection.retired && connection.calls === 0) await end(connection);
      }
    },
    retire(connection) {
      connection.retired = true;
      if (connection.calls === 0) void end(connection);
    },
    async get() {
      if (closing.signal.aborted) throw new Error('this worker is stopping');
      if (current !== null) {
        if (current.endedAtMs === null && !current.retired) return current;
        lose(current);
        current = null;
      }
      opening ??= openNew().finally(() => {
        opening = null;
      });
      return await opening;
    },
    async close() {
      closing.abort();
      await opening?.catch(() => null);
      await Promise.all([...all].map(end));
    },
  };
}

/** @throws Error when that is too long to wait for it. */
async function untilDue(waitMs: number, wasUp: boolean, signal: AbortSignal): Promise<void> {
  if (waitMs <= 0) return;
  if (!wasUp || waitMs > longestRestartWaitMs) {
    throw new Error(`it failed before and is tried again in ${Math.ceil(waitMs / 1_000)} s`);
  }
  await delay(waitMs, undefined, { signal });
}
