import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openConfig, type LiveConfig } from '../../config/live-config.ts';
import { recordingLogger, type LoggedLine } from './recording-logger.ts';

const good = (weight: number): string =>
  `pool: [{id: a, url: "http://127.0.0.1:1"}]\ncallers: {farm: {weight: ${weight}}}\n`;

let folder: string;
let path: string;
let lines: LoggedLine[];
const opened: LiveConfig[] = [];

async function open(file = path): Promise<LiveConfig> {
  const recording = recordingLogger();
  lines = recording.lines;
  const live = await openConfig(file, { logger: recording.logger, everyMs: 20 });
  opened.push(live);
  return live;
}

const weightOf = (live: LiveConfig): number | undefined => live.current().callers['farm']?.weight;
const untilWeight = async (live: LiveConfig, weight: number): Promise<void> =>
  await vi.waitFor(() => expect(weightOf(live)).toBe(weight), { timeout: 30_000, interval: 5 });
const untilFault = async (live: LiveConfig, words: string): Promise<void> =>
  await vi.waitFor(() => expect(live.status().fault?.lines.join('\n')).toContain(words), {
    timeout: 30_000,
    interval: 5,
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fermata-live-'));
  path = join(folder, 'fermata.yaml');
  writeFileSync(path, good(1));
});
afterEach(() => {
  for (const live of opened.splice(0)) live.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a configuration file that changes', () => {
  it.each<[string, () => void]>([
    ['written in place', () => writeFileSync(path, good(2))],
    [
      'replaced by rename, as editors do',
      () => {
        writeFileSync(`${path}.new`, good(2));
        renameSync(`${path}.new`, path);
      },
    ],
    [
      'moved away and written anew, as other editors do',
      () => {
        renameSync(path, `${path}~`);
        writeFileSync(path, good(2));
      },
    ],
    [
      'given the times of the one before',
      () => {
        writeFileSync(`${path}.new`, good(2));
        utimesSync(`${path}.new`, 1, 1);
        renameSync(`${path}.new`, path);
      },
    ],
  ])('is in force when it was %s', async (_how, change) => {
    const live = await open();
    const before = live.status().loadedAt;
    change();
    await untilWeight(live, 2);
    expect(live.status()).toMatchObject({ source: path, fault: null });
    expect(Date.parse(live.status().loadedAt)).toBeGreaterThanOrEqual(Date.parse(before));
  });

  it('is in force when a link of a folder above it is exchanged, as with config maps of Kubernetes', async () => {
    const versions = ['..2026_1', '..2026_2'].map((name) => join(folder, name));
    for (const [index, version] of versions.entries()) {
      mkdirSync(version);
      writeFileSync(join(version, 'fermata.yaml'), good(index + 1));
    }
    const mounted = join(folder, 'mounted');
    mkdirSync(mounted);
    symlinkSync(versions[0] ?? '', join(mounted, '..data'));
    symlinkSync(join('..data', 'fermata.yaml'), join(mounted, 'fermata.yaml'));
    const live = await open(join(mounted, 'fermata.yaml'));
    expect(weightOf(live)).toBe(1);
    symlinkSync(versions[1] ?? '', join(mounted, '..data_tmp'));
    renameSync(join(mounted, '..data_tmp'), join(mounted, '..data'));
    await untilWeight(live, 2);
  });

  it('is told to all who follow, with what is different, in one log line', async () => {
    const live = await open();
    const told: unknown[] = [];
    live.follow(live.current(), (config, change) => told.push([config.policy.batchShare, change.sections]));
    writeFileSync(path, `${good(3)}policy: {batchShare: 0.5}\n`);
    await untilWeight(live, 3);
    expect(told).toEqual([[0.5, ['policy', 'callers']]]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 30,
      changed: ['policy', 'callers'],
      policy: ['batchShare'],
      callers: { changed: ['farm'] },
    });
  });

  it('is told at once to who follows from an older one', async () => {
    const live = await open();
    const old = live.current();
    writeFileSync(path, good(2));
    await untilWeight(live, 2);
    const told: unknown[] = [];
    live.follow(old, (config) => told.push(config.callers['farm']?.weight));
    expect(told).toEqual([2]);
  });

  it('reaches the others when one who follows throws', async () => {
    const live = await open();
    const told: number[] = [];
    live.follow(live.current(), () => {
      throw new Error('cannot be applied');
    });
    live.follow(live.current(), () => told.push(1));
    writeFileSync(path, good(2));
    await vi.waitFor(() => expect(told).toEqual([1]), { timeout: 30_000, interval: 5 });
    expect(lines.map(({ msg }) => msg)).toContain('the changed configuration could not be put in force');
  });

  it('is told to nobody when it only was touched, or means the same', async () => {
    const live = await open();
    const told: unknown[] = [];
    live.follow(live.current(), () => told.push('told'));
    utimesSync(path, 5, 5);
    await live.reload();
    writeFileSync(path, `# a note\n${good(1)}`);
    await live.reload();
    expect([told, lines]).toEqual([[], []]);
  });

  it('is read at once when that is asked for', async () => {
    const live = await open();
    writeFileSync(path, good(7));
    await live.reload();
    expect(weightOf(live)).toBe(7);
  });

  it('is looked at no more after the close', async () => {
    const live = await open();
    const told: unknown[] = [];
    live.follow(live.current(), () => told.push('told'));
    live.close();
    writeFileSync(path, good(2));
    await live.reload();
    expect(told).toEqual([]);
  });
});

describe('a configuration file that is broken', () => {
  it('changes nothing, is logged once however often it is read, and told until a good one comes', async () => {
    const live = await open();
    const before = live.current();
    const broken = 'pool:\n  - id: a\n    url: nowhere\n';
    writeFileSync(path, broken);
    await untilFault(live, 'line 3, column 5: pool[0].url: must be an http:// or https:// address');
    const since = live.status().fault?.since;
    utimesSync(path, 5, 5);
    await live.reload();
    writeFileSync(path, `${broken}# another text, the same fault\n`);
    await live.reload();
    expect(live.current()).toBe(before);
    expect(live.status().fault?.since).toBe(since);
    const told = lines.filter(({ level }) => level === 50);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ source: path });

    writeFileSync(path, good(2));
    await untilWeight(live, 2);
    expect(live.status().fault).toBeNull();
  });

  it('is logged again when it is broken in another way', async () => {
    const live = await open();
    writeFileSync(path, 'pool: []');
    await untilFault(live, 'must name at least one replica');
    writeFileSync(path, 'pool: [');
    await untilFault(live, 'Flow sequence in block collection');
    expect(lines.filter(({ level }) => level === 50)).toHaveLength(2);
  });

  it('is no fault any more once the one in force is there again', async () => {
    const live = await open();
    const told: unknown[] = [];
    live.follow(live.current(), () => told.push('told'));
    writeFileSync(path, 'pool: []');
    await untilFault(live, 'must name');
    writeFileSync(path, good(1));
    await vi.waitFor(() => expect(live.status().fault).toBeNull(), { timeout: 30_000, interval: 5 });
    expect(told).toEqual([]);
    expect(lines.at(-1)?.msg).toContain('usable again');
  });

  it('leaves the one in force when it is deleted, until it is back, though it be the same', async () => {
    const live = await open();
    const before = live.current();
    unlinkSync(path);
    await untilFault(live, 'there is no such file');
    expect(live.current()).toBe(before);
    writeFileSync(path, good(1));
    await vi.waitFor(() => expect(live.status().fault).toBeNull(), { timeout: 30_000, interval: 5 });
    writeFileSync(path, good(4));
    await untilWeight(live, 4);
  });

  it('stops whoever opens it', async () => {
    writeFileSync(path, 'pool: []');
    await expect(open()).rejects.toThrow(`${path}: line 1, column 1: pool: must name at least one replica`);
  });

  it('with hundreds of faults tells twenty lines', async () => {
    const live = await open();
    const replicas = Array.from({ length: 300 }, (_, index) => `  - {id: r${index}, url: nowhere}`);
    writeFileSync(path, `pool:\n${replicas.join('\n')}\n`);
    await untilFault(live, 'and 281 more');
    expect(live.status().fault?.lines).toHaveLength(20);
  });
});
