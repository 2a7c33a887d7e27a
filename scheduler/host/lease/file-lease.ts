/**
 * A lease in a folder, for schedulers of one machine or with one disk. Every write is a new file whose name counts
 * on from the newest; it gets its name with all that it says and only if nobody has that name (`link`), so of
 * several who go on from the same file one succeeds. The name decides: a file that says nothing sensible is a lease of
 * somebody unknown. Each has a mark of its own, so that a folder that was removed and filled again is another one.
 *
 * A network disk must show a file to others once it is closed (NFS 4 does). Files are few and small: those
 * that are `keptFiles` writes old are removed.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { leaseRecordSchema, type LeaseEntry, type LeaseRecord, type LeaseStore } from './lease-store.ts';

const namePattern = /^lease-(\d{13})\.json$/;
const draftPattern = /^draft-[0-9a-f-]{36}\.json$/;
/** Newest files that stay, so that one who reads slowly still finds what is newest. */
const keptFiles = 16;
const maxRecordBytes = 4_096;

/** @throws Error with one readable line when the folder cannot be had. */
export async function openFileLease(folder: string): Promise<LeaseStore> {
  try {
    const lease = new FileLease(folder);
    // Whoever may not write here could only stand by for ever, and should know it now.
    await lease.tryOut();
    return lease;
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'there is something else than a folder' : code;
    throw new Error(
      `FERMATA_SCHEDULER_LEASE: file:${folder} cannot be used (${why}); expected a folder that this process may write to, or a path where it may make one, on a disk with hard links`,
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
    return newest === null ? { version: null, record: null } : await this.#entryOf(newest);
  }

  async write(record: LeaseRecord, version: string | null): Promise<LeaseEntry | null> {
    const number = version === null ? 1 : Number.parseInt(version, 10) + 1;
    const mark = randomUUID();
    const draft = await this.#writeDraft(JSON.stringify({ ...record, mark }));
    try {
      await link(draft, join(this.#folder, nameOf(number)));
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return null;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
    // Whoever slept may have made a file that had long been removed, and then what it went on from is gone too.
    const { newest, numbers, old, drafts } = await this.#list();
    const before = numbers.has(number - 1) ? (await this.#entryOf(number - 1)).version : null;
    if (newest !== number || before !== version) {
      await rm(join(this.#folder, nameOf(number)), { force: true });
      return null;
    }
    // Drafts of those who were killed amid a write; nobody misses one for long.
    const leftOver = number % keptFiles === 0 ? drafts : [];
    await Promise.all([...old, ...leftOver].map((name) => rm(join(this.#folder, name), { force: true })));
    return { version: versionOf(number, mark), record };
  }

  /** @throws what stands in the way of writing here, such as a disk without hard links. */
  async tryOut(): Promise<void> {
    const draft = await this.#writeDraft('');
    const second = join(this.#folder, `draft-${randomUUID()}.json`);
    try {
      await link(draft, second);
    } finally {
      await Promise.all([rm(draft, { force: true }), rm(second, { force: true })]);
    }
  }

  async close(): Promise<void> {}

  /** @returns its path. */
  async #writeDraft(text: string): Promise<string> {
    // Somebody may have removed the folder.
    await mkdir(this.#folder, { recursive: true });
    const draft = join(this.#folder, this.#draft);
    await writeFile(draft, text);
    return draft;
  }

  async #list(): Promise<Listing> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    });
    const numbers = new Set(names.flatMap((name) => numberOf(name) ?? []));
    let newest: number | null = null;
    for (const number of numbers) if (newest === null || number > newest) newest = number;
    const oldest = (newest ?? 0) - keptFiles;
    return {
      newest,
      numbers,
      old: names.filter((name) => (numberOf(name) ?? Number.POSITIVE_INFINITY) <= oldest),
      drafts: names.filter((name) => draftPattern.test(name) && name !== this.#draft),
    };
  }

  async #entryOf(number: number): Promise<LeaseEntry> {
    const file = await open(join(this.#folder, nameOf(number)));
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(maxRecordBytes), 0, maxRecordBytes, 0);
      const parsed = fileSchema.safeParse(parseJson(buffer.toString('utf8', 0, bytesRead)));
      if (!parsed.success) return { version: versionOf(number, ''), record: null };
      const { mark, ...record } = parsed.data;
      return { version: versionOf(number, mark), record };
    } finally {
      await file.close();
    }
  }
}

interface Listing {
  readonly newest: number | null;
  readonly numbers: ReadonlySet<number>;
  /** Names of what can be removed. */
  readonly old: readonly string[];
  /** Names of the drafts of others. */
  readonly drafts: readonly string[];
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

const fileSchema = leaseRecordSchema.extend({ mark: z.string().max(64) });

function versionOf(number: number, mark: string): string {
  return `${number} ${mark}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function nameOf(number: number): string {
  return `lease-${String(number).padStart(13, '0')}.json`;
}

function numberOf(name: string): number | null {
  const digits = namePattern.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}
