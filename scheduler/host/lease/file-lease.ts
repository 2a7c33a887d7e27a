/**
 * A lease in a folder, for schedulers of one machine or with one disk. Every write is a new file whose name counts
 * on from the newest; it gets its name with all that it says and only if nobody has that name (`link`), so of
 * several who go on from the same file one succeeds. The name alone decides: what a file says cannot be trusted to
 * be anything, and one that says nothing sensible is a lease of somebody unknown.
 *
 * A network disk must show a file to others once it is closed (NFS 4 does). Files are few and small: those
 * that are `keptFiles` writes old are removed.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { leaseRecordSchema, type LeaseEntry, type LeaseRecord, type LeaseStore } from './lease-store.ts';

const namePattern = /^lease-(\d{13})\.json$/;
const draftPattern = /^draft-[0-9a-f-]{36}\.json$/;
/** Newest files that stay, so that one who reads slowly still finds what is newest. */
const keptFiles = 16;
const maxRecordBytes = 4_096;

/** @throws Error with one readable line when the folder cannot be had. */
export async function openFileLease(folder: string): Promise<LeaseStore> {
  try {
    await mkdir(folder, { recursive: true });
    const lease = new FileLease(folder);
    // Whoever may not write here can stand by for ever, and should know it now.
    await lease.tryDraft();
    return lease;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'there is something else than a folder' : code;
    throw new Error(
      `FERMATA_SCHEDULER_LEASE: file:${folder} cannot be used (${why}); expected a folder that this process may write to, or a path where it may make one`,
      { cause: error },
    );
  }
}

class FileLease implements LeaseStore {
  readonly at: string;
  readonly #folder: string;
  readonly #draft: string;

  constructor(folder: string) {
    this.at = `file:${folder}`;
    this.#folder = folder;
    this.#draft = `draft-${randomUUID()}.json`;
  }

  async read(): Promise<LeaseEntry> {
    const { newest } = await this.#list();
    return newest === null
      ? { version: null, record: null }
      : { version: String(newest), record: await this.#recordOf(newest) };
  }

  async write(record: LeaseRecord, version: string | null): Promise<LeaseEntry | null> {
    const number = version === null ? 1 : Number(version) + 1;
    const draft = join(this.#folder, this.#draft);
    await writeFile(draft, JSON.stringify(record));
    try {
      await link(draft, join(this.#folder, nameOf(number)));
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return null;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
    // Whoever slept may have made a file that had long been removed.
    const { newest, old, drafts } = await this.#list();
    if (newest !== number) {
      await rm(join(this.#folder, nameOf(number)), { force: true });
      return null;
    }
    // Drafts of those who were killed amid a write; nobody misses one for long.
    const leftOver = number % keptFiles === 0 ? drafts : [];
    await Promise.all([...old, ...leftOver].map((name) => rm(join(this.#folder, name), { force: true })));
    return { version: String(number), record };
  }

  /** @throws what stands in the way of writing here. */
  async tryDraft(): Promise<void> {
    await writeFile(join(this.#folder, this.#draft), '');
    await rm(join(this.#folder, this.#draft), { force: true });
  }

  async close(): Promise<void> {}

  async #list(): Promise<{ newest: number | null; old: string[]; drafts: string[] }> {
    const names = await readdir(this.#folder);
    let newest: number | null = null;
    for (const name of names) {
      const number = numberOf(name);
      if (number !== null && (newest === null || number > newest)) newest = number;
    }
    const oldest = (newest ?? 0) - keptFiles;
    return {
      newest,
      old: names.filter((name) => (numberOf(name) ?? Number.POSITIVE_INFINITY) <= oldest),
      drafts: names.filter((name) => draftPattern.test(name) && name !== this.#draft),
    };
  }

  /** null: it says nothing sensible. */
  async #recordOf(number: number): Promise<LeaseRecord | null> {
    const file = await open(join(this.#folder, nameOf(number)));
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(maxRecordBytes), 0, maxRecordBytes, 0);
      const parsed = leaseRecordSchema.safeParse(JSON.parse(buffer.toString('utf8', 0, bytesRead)));
      return parsed.success ? parsed.data : null;
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    } finally {
      await file.close();
    }
  }
}

function nameOf(number: number): string {
  return `lease-${String(number).padStart(13, '0')}.json`;
}

function numberOf(name: string): number | null {
  const digits = namePattern.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}
