/**
 * `npm test`: installs what is missing, runs the checks and all tests (pure, loopback, end to end with a
 * real Temporal server and a real llama.cpp), and ends with the line `N passed, N failed`.
 * Arguments go to vitest; with any, the checks are left out.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackages } from './ensure-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const chosen = process.argv.slice(2);
ensurePackages(root);
if (run('node', ['--import', 'tsx', 'scripts/prepare-test-tools.ts']) !== 0) process.exit(1);

let passed = 0;
let failed = 0;
let skipped = 0;
if (chosen.length === 0) {
  // The seeded fault runs of the scheduler's core are a check of their own: ten thousand of them, a minute on
  // one processor, beside the others.
  const beside = [
    [['check:types'], ['check:lint'], ['check:format']],
    [['bench', '--', 'scheduler-faults', '--untimed']],
  ];
  const codes = await Promise.all(beside.map(runInTurn));
  for (const code of codes.flat()) {
    if (code === 0) passed += 1;
    else failed += 1;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'fermata-test-'));
const report = join(folder, 'report.json');
const code = run(process.execPath, [
  join(root, 'node_modules', 'vitest', 'vitest.mjs'),
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...chosen,
]);
try {
  const result = JSON.parse(readFileSync(report, 'utf8'));
  passed += result.numPassedTests;
  failed += result.numFailedTests;
  skipped += result.numPendingTests + result.numTodoTests;
} catch {
  process.stderr.write('fermata: the test runner left no report.\n');
}
rmSync(folder, { recursive: true, force: true });
// A suite that could not be loaded, or an error outside any test, fails the run without a failed test.
if (code !== 0 && failed === 0) failed += 1;
process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exit(failed > 0 ? 1 : 0);

/** @param {string[][]} checks names of npm scripts with their arguments @returns {Promise<number[]>} exit codes */
async function runInTurn(checks) {
  const codes = [];
  for (const check of checks) {
    const child = spawn('npm', ['run', '--silent', ...check], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Shown whole at its end: two that speak at once cannot be read.
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    const [exitCode] = await once(child, 'close');
    process.stdout.write(Buffer.concat(output));
    codes.push(exitCode ?? 1);
  }
  return codes;
}

/** @param {string} command @param {string[]} args @returns {number} its exit code, 1 when it could not run */
function run(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status ?? 1;
}
