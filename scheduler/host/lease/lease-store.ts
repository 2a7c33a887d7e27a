/**
 * What a lease is kept in: one record that several schedulers read, and that is replaced only by one who has read
 * what is there now. It knows nothing of time: who may take the lease when is `lease-rules.ts`.
 */
import { z } from 'zod';

export const leaseRecordSchema = z.object({
  /** Who has it, as it calls itself; null: nobody, it was given back. */
  holder: z.string().min(1).max(256).nullable(),
  /** Milliseconds without a renewal after which others may take it. */
  durationMs: z.int().min(1),
  /** Proxies that are linked with the holder, or were as it gave the lease back; null: not told. */
  linkedProxies: z.int().min(0).nullable(),
});
export type LeaseRecord = z.infer<typeof leaseRecordSchema>;

export interface LeaseEntry {
  /** Another one with every write; null: there is none yet. */
  readonly version: string | null;
  /** null: there is none, or it cannot be read as one. */
  readonly record: LeaseRecord | null;
}

export interface LeaseStore {
  /** Where it is, as it was set. */
  readonly at: string;
  /** @throws Error when it cannot be read. */
  read(): Promise<LeaseEntry>;
  /**
   * Puts `record` in the place of what `version` is of, in one step: of several who try, one succeeds.
   * @returns the entry as it is then; null: what was there was not of that version any more.
   * @throws Error when it is not known whether it has been written.
   */
  write(record: LeaseRecord, version: string | null): Promise<LeaseEntry | null>;
  /** Ends its connections. */
  close(): Promise<void>;
}
