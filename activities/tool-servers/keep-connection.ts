/** Keeps one connection: opened at first use, shared by all, opened again with backoff after it was lost. */
import { createBackoff } from './backoff.ts';
import type { Connection } from './connection.ts';

export interface ConnectionKeeper {
  /** @throws Error when it cannot be opened, or failed so lately that it is not tried yet. */
  get(): Promise<Connection>;
  /** Runs one call on a connection; one that is retired ends with its last call. */
  use<T>(connection: Connection, work: () => Promise<T>): Promise<T>;
  /** Takes a connection out of use; the next `get` opens another, and calls on this one may still end. */
  retire(connection: Connection): void;
  close(): Promise<void>;
}

/** @param open stops when its signal aborts. */
export function keepConnection(open: (signal: AbortSignal) => Promise<Connection>): ConnectionKeeper {
  let current: Connection | null = null;
  let opening: Promise<Connection> | null = null;
  const closing = new AbortController();
  const backoff = createBackoff({ firstMs: 1_000, longestMs: 30_000 });
  const openNew = async (): Promise<Connection> => {
    const waitMs = backoff.waitMs(performance.now());
    if (waitMs > 0) throw new Error(`it failed before and is tried again in ${Math.ceil(waitMs / 1_000)} s`);
    try {
      current = await open(closing.signal);
      backoff.succeeded();
      return current;
    } catch (error) {
      backoff.failed(performance.now());
      throw error;
    }
  };
  const end = async (connection: Connection): Promise<void> => {
    connection.closed = true;
    await connection.client.close().catch(() => undefined);
  };
  return {
    async use(connection, work) {
      connection.calls += 1;
      try {
        return await work();
      } finally {
        connection.calls -= 1;
        if (connection.closed && connection.calls === 0) await end(connection);
      }
    },
    retire(connection) {
      connection.closed = true;
    },
    async get() {
      if (closing.signal.aborted) throw new Error('this worker is stopping');
      if (current !== null && !current.closed) return current;
      opening ??= openNew().finally(() => {
        opening = null;
      });
      return await opening;
    },
    async close() {
      closing.abort();
      const last = (await opening?.catch(() => null)) ?? current;
      if (last !== null) await end(last);
    },
  };
}
