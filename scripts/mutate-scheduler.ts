/**
 * `npx tsx scripts/mutate-scheduler.ts [NAME…]`: breaks one rule of the scheduler's core at a time, by a change
 * of its text in a copy of the tree, and runs the core's tests against it. Prints which mutants were caught and
 * by which test; exits 1 if one survives, or if its text is not found any more.
 */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mutants, type Mutant } from './scheduler-mutants.ts';

const root = resolve(import.meta.dirname, '..');
const limitMs = 120_000;

interface Verdict {
  readonly mutant: Mutant;
  readonly caught: boolean;
  /** The first test that failed, or what went wrong. */
  readonly by: string;
}

async function copyTree(): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), 'fermata-mutants-'));
  for (const path of [
    'scheduler',
    'contracts',
    'test/scheduler/core',
    'test/close-opened.ts',
    'test/closing.ts',
    'test/case-file.ts',
    'test/fixtures/cases',
    'tsconfig.json',
    'vitest.config.ts',
    'package.json',
  ]) {
    await cp(join(root, path), join(tree, path), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

async function tryMutant(tree: string, mutant: Mutant): Promise<Verdict> {
  const path = join(tree, 'scheduler/core', mutant.file);
  const text = await readFile(path, 'utf8');
  if (text.split(mutant.from).length !== 2) {
    return {
      mutant,
      caught: false,
      by: `its text stands ${text.split(mutant.from).length - 1} times in ${mutant.file}`,
    };
  }
  await writeFile(
    path,
    text.replace(mutant.from, () => mutant.to),
  );
  try {
    return { mutant, ...(await runTests(tree)) };
  } finally {
    await writeFile(path, text);
  }
}

/** The tables first, which are quick; the simulation only for what they let pass. */
async function runTests(tree: string): Promise<Pick<Verdict, 'caught' | 'by'>> {
  const tables = await runVitest(tree, ['--exclude', '**/simulation.test.ts', 'test/scheduler/core']);
  return tables.caught ? tables : await runVitest(tree, ['test/scheduler/core/simulation.test.ts']);
}

function runVitest(tree: string, what: readonly string[]): Promise<Pick<Verdict, 'caught' | 'by'>> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const options = ['run', '--project', 'pure', '--bail', '1', '--maxWorkers', '1', '--reporter', 'dot'];
  const parameters = [...options, '--no-color', ...what];
  return new Promise((done) => {
    const child = spawn(process.execPath, [vitest, ...parameters], {
      cwd: tree,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-200_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const failed = /FAIL\s+(?:\S+ )?(test\/.*)/.exec(output)?.[1];
      if (signal !== null) done({ caught: true, by: `no end within ${limitMs} ms` });
      else
        done({
          caught: code !== 0 && failed !== undefined,
          by: failed ?? (code === 0 ? 'nothing' : output.slice(-400)),
        });
    });
  });
}

const wanted = process.argv.slice(2);
const chosen = mutants.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const tree = await copyTree();
const survivors: string[] = [];
try {
  const intact = await runTests(tree);
  if (intact.caught || intact.by !== 'nothing')
    throw new Error(`the tests fail without a mutant: ${intact.by}`);
  for (const mutant of chosen) {
    const { caught, by } = await tryMutant(tree, mutant);
    process.stdout.write(`${caught ? 'caught  ' : 'SURVIVED'} ${mutant.name}: ${by}\n`);
    if (!caught) survivors.push(mutant.name);
  }
} finally {
  await rm(tree, { recursive: true, force: true });
}
process.stdout.write(`${chosen.length - survivors.length} of ${chosen.length} mutants caught\n`);
process.exitCode = survivors.length > 0 || chosen.length === 0 ? 1 : 0;
