/**
 * `npm run test:cluster [-- ARGS]`: all end-to-end tests on a full Temporal server on PostgreSQL, both started
 * here and gone at the end, and the tests of such a cluster alone (test/cluster). Arguments go to vitest: files
 * to run, `-t NAME`. Ends with the line `N passed, N failed`. Takes the better part of an hour on two cores.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { closeInReverse, type Closable } from '../cli/close-in-reverse.ts';
import { ensureClusterPrograms } from '../cli/setup/cluster-programs.ts';
import { SetupFault } from '../cli/setup/setup-fault.ts';
import type { TestCluster } from '../test/test-cluster.ts';
import { startPostgres } from '../testkit/temporal-cluster/postgres.ts';
import { startClusterServer } from '../testkit/temporal-cluster/server.ts';

const root = resolve(import.meta.dirname, '..');
const reportSchema = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
});
const chosen = process.argv.slice(2);
const progress = (line: string): void => void process.stderr.write(`fermata: ${line}\n`);
const running: Closable[] = [];
let code = 1;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void closeInReverse(running).finally(() => process.exit(1)));
}
try {
  code = await testOnCluster();
} catch (error) {
  if (!(error instanceof SetupFault)) throw error;
  progress(error.message);
} finally {
  await closeInReverse(running);
}
process.exit(code);

async function testOnCluster(): Promise<0 | 1> {
  const programs = await ensureClusterPrograms(join(root, '.fermata'), process.env['PATH'] ?? '', progress);
  const folder = await mkdtemp(join(tmpdir(), 'fermata-cluster-'));
  running.push({ close: async () => await rm(folder, { recursive: true, force: true }) });
  progress('starting PostgreSQL and Temporal ...');
  const postgres = await startPostgres({ programs });
  running.push(postgres);
  const { server, sqlTool } = programs;
  const temporal = await startClusterServer({
    programs: { server, sqlTool },
    postgres,
    name: 'temporal',
    folder: join(folder, 'server'),
  });
  running.push(temporal);
  await prepareNamespace(temporal.address);
  const { host, port, user, password } = postgres;
  const cluster: TestCluster = {
    address: temporal.address,
    programs: { server, sqlTool },
    postgres: { host, port, user, password },
  };
  const clusterFile = join(folder, 'cluster.json');
  await writeFile(clusterFile, JSON.stringify(cluster), { mode: 0o600 });
  progress(`Temporal's server on PostgreSQL is at ${temporal.address}`);
  return await runTests(clusterFile, folder);
}

/** As an operator does it. */
async function prepareNamespace(address: string): Promise<void> {
  const command = ['bin/fermata.mjs', 'setup', 'temporal', '--create-namespace', '--no-json'];
  const environment = { ...process.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'default' };
  if ((await run(command, environment)) !== 0) throw new SetupFault('the namespace could not be made');
}

async function runTests(clusterFile: string, folder: string): Promise<0 | 1> {
  const report = join(folder, 'report.json');
  const exit = await run(
    [
      join('node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--config=test/cluster/vitest.config.ts',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...chosen,
    ],
    { ...process.env, TEST_TEMPORAL_CLUSTER: clusterFile },
  );
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  try {
    const result = reportSchema.parse(JSON.parse(await readFile(report, 'utf8')));
    passed = result.numPassedTests;
    failed = result.numFailedTests;
    skipped = result.numPendingTests + result.numTodoTests;
  } catch {
    progress('the test runner left no report.');
  }
  // A suite that could not be loaded, or an error outside any test, fails the run without a failed test.
  if (exit !== 0 && failed === 0) failed = 1;
  process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  return failed > 0 ? 1 : 0;
}

async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: environment,
  });
  running.push({
    close: async () => {
      child.kill('SIGTERM');
    },
  });
  return await new Promise((ended) => {
    child.once('error', () => ended(1));
    child.once('close', (exit) => ended(exit ?? 1));
  });
}
