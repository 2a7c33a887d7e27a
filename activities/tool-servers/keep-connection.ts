/** Keeps one connection: opened at first use, shared by all, opened again with backoff after it was lost. */
import { createBackoff } from './backoff.ts';
import type { Connection } from './connection.ts';

export interface ConnectionKeeper {
  /** @throws Error when it cannot be opened, or failed so lately that it is not tried yet. */
  get(): Promise<Connection>;
  /** Ends a connection that is of no use any more; the next `get` opens another. */
  drop(lost: Connection): Promise<void>;
  close(): Promise<void>;
}

export function keepConnection(open: () => Promise<Connection>): ConnectionKeeper {
  let current: Connection | null = null;
  let opening: Promise<Connection> | null = null;
  let closed = false;
  const backoff = createBackoff({ firstMs: 1_000, longestMs: 30_000 });
  const openNew = async (): Promise<Connection> => {
    const waitMs = backoff.waitMs(performance.now());
    if (waitMs > 0) throw new Error(`it failed before and is tried again in ${Math.ceil(waitMs / 1_000)} s`);
    try {
      current = await open();
      backoff.succeeded();
      return current;
    } catch (error) {
      backoff.failed(performance.now());
      throw error;
    }
  };
  const drop = async (lost: Connection): Promise<void> => {
    lost.closed = true;
    await lost.client.close().catch(() => undefined);
  };
  return {
    drop,
    async get() {
      if (closed) throw new Error('this worker is stopping');
      if (current !== null && !current.closed) return current;
      opening ??= openNew().finally(() => {
        opening = null;
      });
      return await opening;
    },
    async close() {
      closed = true;
      const last = (await opening?.catch(() => null)) ?? current;
      if (last !== null) await drop(last);
    },
  };
}
