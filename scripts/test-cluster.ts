/**
 * `npm run test:cluster [-- ARGS]`: all end-to-end tests on a full Temporal server on PostgreSQL, both started
 * here and gone at the end, and the tests of such a cluster alone (test/cluster). Arguments go to vitest: files
 * to run, `-t NAME`. Ends with the line `N passed, N failed`. Takes the better part of an hour on two cores.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { SetupFault } from '../cli/setup/setup-fault.ts';
import { startCluster, type RunningCluster } from './start-cluster.ts';

const root = resolve(import.meta.dirname, '..');
const reportSchema = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
});
const chosen = process.argv.slice(2);
const progress = (line: string): void => void process.stderr.write(`fermata: ${line}\n`);
const starting = startCluster(progress);
let tests: ChildProcess | null = null;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    tests?.kill(signal);
    void starting.then(async (running) => await running.close()).finally(() => process.exit(1));
  });
}
process.exit(await testOn(starting));

async function testOn(started: Promise<RunningCluster>): Promise<0 | 1> {
  let running: RunningCluster;
  try {
    running = await started;
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error;
    progress(error.message);
    return 1;
  }
  try {
    const clusterFile = join(running.folder, 'cluster.json');
    await writeFile(clusterFile, JSON.stringify(running.cluster), { mode: 0o600 });
    return await runTests(clusterFile, join(running.folder, 'report.json'));
  } finally {
    await running.close();
  }
}

async function runTests(clusterFile: string, report: string): Promise<0 | 1> {
  const exit = await vitest(
    [
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

async function vitest(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(
    process.execPath,
    [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...args],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: environment },
  );
  tests = child;
  return await new Promise((ended) => {
    child.once('error', () => ended(1));
    child.once('close', (exit) => ended(exit ?? 1));
  });
}
