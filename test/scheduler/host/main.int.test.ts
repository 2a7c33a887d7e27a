/** The scheduler as a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { schedulerStatusSchema, type SchedulerStatus } from '../../../contracts/scheduler-status.ts';
import { engine } from './stand.ts';

const entry = resolve(import.meta.dirname, '../../../scheduler/host/main.ts');
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** Starts it in an empty folder, with `config` as its `fermata.yaml` when there is one. */
async function start(config: string | null, environment: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-scheduler-'));
  folders.push(folder);
  if (config !== null) await writeFile(join(folder, 'fermata.yaml'), config);
  const tsx = import.meta.resolve('tsx');
  const child = spawn(process.execPath, ['--import', tsx, entry], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      FERMATA_SCHEDULER_PORT: '0',
      FERMATA_LOG_LEVEL: 'silent',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exited = once(child, 'exit').then(([code]: unknown[]) => ({ code, out, errors }));
  return { child, folder, exited };
}

it('prints its real address when it is ready, and stops on SIGTERM', async () => {
  const { url } = await engine();
  const { child, exited } = await start(`pool: [{id: a, url: "${url}"}]`);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const address = /^fermata scheduler is ready at (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(line.toString())?.[1];
  expect(await (await fetch(`${address}/healthz`)).json()).toEqual({ status: 'ok' });
  child.kill('SIGTERM');
  expect(await exited).toMatchObject({ code: 0, errors: '' });
});

it.each([
  [null, {}, 'fermata scheduler cannot start: fermata.yaml: there is no such file\n'],
  [
    'pool: []',
    {},
    'fermata scheduler cannot start: fermata.yaml: line 1, column 1: pool: must name at least one replica\n',
  ],
  ['pool: []', { FERMATA_SCHEDULER_PORT: 'x' }, 'FERMATA_SCHEDULER_PORT'],
  [
    'pool: [{id: a, url: "http://127.0.0.1:9"}]',
    { FERMATA_SCHEDULER_LEASE: 'file:fermata.yaml' },
    'FERMATA_SCHEDULER_LEASE: file:fermata.yaml cannot be used (there is something else than a folder)',
  ],
] as const)('with the file %j and %j does not start and says why', async (config, environment, words) => {
  const { code, errors } = await (await start(config, environment)).exited;
  expect(code).toBe(1);
  expect(errors).toContain(words);
  expect(errors.trim().split('\n')).toHaveLength(1);
});

it('takes a changed file over on its own and on SIGHUP, and tells of a broken one', async () => {
  const { url } = await engine();
  const poolOf = (id: string): string => `pool: [{id: ${id}, url: "${url}"}]`;
  const { child, folder, exited } = await start(poolOf('a'), { FERMATA_LOG_LEVEL: 'info' });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const address = /http:\S+/.exec(line.toString())?.[0] ?? '';
  const status = async (): Promise<SchedulerStatus> =>
    schedulerStatusSchema.parse(await (await fetch(`${address}/status`)).json());
  const replicas = async (): Promise<string[]> => (await status()).replicas.map(({ id }) => id);
  expect((await status()).config).toMatchObject({ source: 'fermata.yaml', fault: null });

  await writeFile(join(folder, 'fermata.yaml'), poolOf('b'));
  await expect.poll(replicas, { timeout: 10_000 }).toEqual(['b']);

  await writeFile(join(folder, 'fermata.yaml'), 'pool: []');
  child.kill('SIGHUP');
  const fault = async (): Promise<unknown> => (await status()).config?.fault?.lines;
  await expect
    .poll(fault, { timeout: 10_000 })
    .toEqual(['line 1, column 1: pool: must name at least one replica']);
  expect(await replicas()).toEqual(['b']);
  expect(await (await fetch(`${address}/metrics`)).text()).toContain('fermata_scheduler_config_fault 1');

  await writeFile(join(folder, 'fermata.yaml'), poolOf('c'));
  child.kill('SIGHUP');
  await expect.poll(replicas, { timeout: 10_000 }).toEqual(['c']);
  expect((await status()).config?.fault).toBeNull();
  child.kill('SIGTERM');
  const { code, errors } = await exited;
  expect(code).toBe(0);
  expect(errors.split('the configuration has changed')).toHaveLength(3);
  expect(errors.split('the configuration file cannot be used')).toHaveLength(2);
});
