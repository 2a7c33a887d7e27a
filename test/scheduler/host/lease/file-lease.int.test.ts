/** The lease in a folder, on a real disk. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openFileLease } from '../../../../scheduler/host/lease/file-lease.ts';
import type { LeaseRecord } from '../../../../scheduler/host/lease/lease-store.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-lease-'));
  folders.push(folder);
  return folder;
}

const of = (holder: string | null): LeaseRecord => ({ holder, durationMs: 2_000, linkedProxies: 2 });

describe('a lease in a folder', () => {
  it('is not there at first, and then what was written last', async () => {
    const folder = join(await makeFolder(), 'deep', 'lease');
    const lease = await openFileLease(folder);
    expect(await lease.read()).toEqual({ version: null, record: null });
    const first = await lease.write(of('a'), null);
    expect(first).toMatchObject({ record: of('a') });
    expect(await lease.read()).toEqual(first);
    const second = await lease.write(of(null), first?.version ?? null);
    expect(await (await openFileLease(folder)).read()).toEqual(second);
    expect(second?.version).not.toBe(first?.version);
  });

  it('goes to one of many who write at the same time, and to nobody who has not read it', async () => {
    const folder = await makeFolder();
    const leases = await Promise.all(Array.from({ length: 12 }, () => openFileLease(folder)));
    let version: string | null = null;
    for (let round = 0; round < 20; round += 1) {
      const written = await Promise.all(leases.map((lease, index) => lease.write(of(`c${index}`), version)));
      const won = written.filter((entry) => entry !== null);
      expect(won).toHaveLength(1);
      expect(await leases[0]?.read()).toEqual(won[0]);
      version = won[0]?.version ?? null;
    }
    expect(await leases[0]?.write(of('late'), null)).toBeNull();
  });

  it('leaves few files, also of those who were killed amid a write', async () => {
    const folder = await makeFolder();
    const lease = await openFileLease(folder);
    await writeFile(join(folder, 'draft-00000000-0000-4000-8000-000000000000.json'), '{}');
    let version: string | null = null;
    for (let index = 0; index < 64; index += 1) {
      version = (await lease.write(of('a'), version))?.version ?? null;
    }
    const names = await readdir(folder);
    expect(names.length).toBeLessThanOrEqual(17);
    expect(names.every((name) => name.startsWith('lease-'))).toBe(true);
  });

  it('refuses one who slept while so much was written that what it has read is gone', async () => {
    const folder = await makeFolder();
    const lease = await openFileLease(folder);
    const asleep = await lease.write(of('a'), null);
    let version = asleep?.version ?? null;
    for (let index = 0; index < 40; index += 1) {
      version = (await lease.write(of('b'), version))?.version ?? null;
    }
    expect(await lease.write(of('a'), asleep?.version ?? null)).toBeNull();
    expect((await lease.read()).record?.holder).toBe('b');
  });

  it('is another one when it was removed and made again, also where it has come as far', async () => {
    const folder = await makeFolder();
    const lease = await openFileLease(folder);
    const before = await lease.write(of('a'), null);
    await rm(folder, { recursive: true });
    expect(await lease.read()).toEqual({ version: null, record: null });
    const after = await lease.write(of('b'), null);
    expect(await lease.write(of('a'), before?.version ?? null)).toBeNull();
    expect(await lease.read()).toEqual(after);
    expect(await lease.write(of('b'), after?.version ?? null)).not.toBeNull();
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'garbage'],
    ['JSON of something else', '{"holder": 7}'],
    ['a megabyte of noise', 'x'.repeat(1024 * 1024)],
  ])('that says %s is of somebody unknown, and can be taken from there', async (_words, text) => {
    const folder = await makeFolder();
    const lease = await openFileLease(folder);
    await writeFile(join(folder, 'lease-0000000000041.json'), text);
    await writeFile(join(folder, 'lease-none.json'), 'not one of ours');
    const read = await lease.read();
    expect(read.record).toBeNull();
    const taken = await lease.write(of('a'), read.version);
    expect(taken).not.toBeNull();
    expect(await lease.read()).toEqual(taken);
  });

  it('says in one line what is wrong with a path', async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, 'file'), '');
    await expect(openFileLease(join(folder, 'file'))).rejects.toThrow(
      /^FERMATA_SCHEDULER_LEASE: file:\S+ cannot be used \(there is something else than a folder\); expected .*$/,
    );
    await mkdir(join(folder, 'fine'));
    await openFileLease(join(folder, 'fine'));
    expect(await readdir(join(folder, 'fine'))).toEqual([]);
  });
});
