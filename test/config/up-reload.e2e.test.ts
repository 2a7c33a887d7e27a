/** `fermata up` with a file of its own: what a changed file and SIGHUP do to a whole stack. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { schedulerStatusSchema, type SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';
import { eventually, runUp, type UpProcess } from '../cli/run-up.ts';

let stateDir: string;
let engine: SimEngine;
const started: UpProcess[] = [];
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fermata-up-reload-'));
  engine = await startSimEngine();
});
afterEach(async () => {
  for (const up of started) up.signal('SIGTERM');
  await Promise.all(started.splice(0).map(async (up) => await up.ended));
  await engine.close();
  await rm(stateDir, { recursive: true, force: true });
});

function start(args: readonly string[]): UpProcess {
  const up = runUp({ stateDir, temporalBinary: inject('temporalBinary'), args });
  started.push(up);
  return up;
}

const statusOf = async (url: string): Promise<SchedulerStatus> =>
  schedulerStatusSchema.parse(await (await fetch(`${url}/status`)).json());

describe('fermata up with a configuration file', () => {
  it.each([[[]], [['--separate']]])('%j follows it, reads it on SIGHUP, and goes on', async (extra) => {
    const path = join(stateDir, 'own.yaml');
    const write = async (share: number): Promise<void> =>
      await writeFile(path, `pool: [{id: a, url: "${engine.url}"}]\npolicy: {batchShare: ${share}}\n`);
    await write(0.2);
    const up = start(['--config', path, ...extra]);
    const { schedulerUrl } = await up.ready;
    const share = async (): Promise<number> => (await statusOf(schedulerUrl)).policy.batchShare;
    expect(await share()).toBe(0.2);
    await write(0.3);
    await eventually('the change is in force', async () => (await share()) === 0.3);
    up.signal('SIGHUP');
    await write(0.4);
    up.signal('SIGHUP');
    await eventually('the second change is in force', async () => (await share()) === 0.4);
    expect((await statusOf(schedulerUrl)).config).toMatchObject({ source: path, fault: null });
    await writeFile(path, 'pool: []\n');
    await eventually('the fault is told at the terminal', () =>
      up.stderr().includes('the configuration file cannot be used'),
    );
    up.signal('SIGTERM');
    expect((await up.ended).code).toBe(0);
  });
});

describe('fermata up without a file', () => {
  it('ends on SIGHUP, as when its terminal is closed', async () => {
    const up = start(['--engine', 'simulated']);
    await up.ready;
    up.signal('SIGHUP');
    expect((await up.ended).code).toBe(0);
  });
});
