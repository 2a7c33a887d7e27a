/**
 * The harness of the flood, not its speed: a few seconds of it, with fermata as real processes and with agents
 * that ask an engine directly in place of a rival. Nothing is fetched.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SetupFault } from '../../../cli/setup/setup-fault.ts';
import { residency, type Arm } from '../../../bench/flood/arms.ts';
import { planOf } from '../../../bench/flood/plan.ts';
import { summaryOf } from '../../../bench/flood/run-flood.ts';
import { sweep } from '../../../bench/flood/sweep.ts';
import { withoutSettings } from '../../../bench/site/work-dir.ts';
import { agents, memoryFor } from '../../../bench/sim/scenarios.ts';

const tools = [{ name: 'lookup', share: 1, durationMs: { lowest: 20, highest: 60 } }];
const loads = [agents('batch', 4, { tools }), agents('interactive', 1, { tools })];
const plan = {
  ...planOf('simulated', true, 1),
  scenario: {
    ...planOf('simulated', true, 1).scenario,
    replicas: memoryFor(2, loads),
    loads,
    warmUpMs: 5_500,
    windowMs: 2_500,
  },
};

/** The first engine, asked directly. */
const direct: Arm = {
  name: 'direct',
  policy: 'cache-aware',
  kind: 'router',
  dialect: 'sglang',
  agents: { named: false },
  start: async (engines) => ({
    url: engines.urls[0] ?? '',
    version: '1.2.3',
    processes: [],
    close: async () => {},
  }),
};
const missing: Arm = {
  ...direct,
  name: 'missing',
  start: async () => {
    throw new SetupFault('it cannot be had here');
  },
};

const folders: string[] = [];

afterEach(async () => {
  await Promise.all(folders.splice(0).map(async (path) => await rm(path, { recursive: true, force: true })));
});

async function siteOf() {
  const workDir = await mkdtemp(join(tmpdir(), 'fermata-flood-test-'));
  folders.push(workDir);
  const lines: string[] = [];
  const site = {
    workDir,
    toolsDir: workDir,
    environment: withoutSettings(process.env),
    progress: (line: string) => void lines.push(line),
  };
  return { site, lines };
}

describe('a few seconds of the flood', () => {
  it('run every arm with the same work, and leave out and name what cannot be had', async () => {
    const arms = [direct, missing, residency];
    const { site, lines } = await siteOf();
    const found = await sweep({ ...plan, arms, seeds: [5], lanes: 2 }, site);
    expect(found.windows.map(({ arm }) => arm)).toEqual(['direct', 'residency']);
    expect(found.notRun).toEqual({ missing: 'it cannot be had here' });
    expect(lines).toContain('missing is not run: it cannot be had here');
    for (const { metrics, failures, endedAtMs, answers } of found.windows) {
      expect(failures).toEqual({ count: 0, reasons: [] });
      expect(metrics.turnsPerMinute).toBeGreaterThan(0);
      expect(metrics.failedRuns).toBe(0);
      expect(endedAtMs.interactive.length + endedAtMs.batch.length).toBeGreaterThan(0);
      expect(answers.size).toBeGreaterThan(0);
    }
    const { details, bars, packages } = summaryOf(plan, [5], arms, found, null);
    expect(details['identity']).toMatchObject({ wrongReplies: 0, different: 0 });
    expect(packages).toEqual({ direct: '1.2.3' });
    expect(
      bars.find(({ name }) => name === 'flood interactive runs/min over the best router')?.value,
    ).not.toBe(undefined);
  }, 60_000);

  it('end at once when fermata itself cannot be had', async () => {
    const { site } = await siteOf();
    const broken: Arm = { ...missing, name: 'residency', kind: 'fermata' };
    await expect(sweep({ ...plan, arms: [broken, direct], seeds: [5, 6], lanes: 1 }, site)).rejects.toThrow(
      'cannot be had here',
    );
  }, 60_000);
});
