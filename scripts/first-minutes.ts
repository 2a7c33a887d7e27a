/**
 * `npm run first-minutes`: what a newcomer does, from a fresh clone and by the README alone: start, spawn a run,
 * see it in the page. Nothing is installed before, no cache of npm or pip is used. Prints the time of each
 * step; its bar is three minutes in all.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { bar, publish } from '../bench/bars.ts';
import { ensureChromium } from '../cli/setup/chromium.ts';
import { findFreePort } from '../cli/setup/free-port.ts';
import { readmeCommand } from './readme-command.ts';

const root = resolve(import.meta.dirname, '..');
const host = '127.0.0.1';
const limitSeconds = 180;
/** A step that takes longer has failed. */
const stepLimitMs = 600_000;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

interface Step {
  readonly name: string;
  readonly seconds: number;
}

const steps: Step[] = [];

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const value = await work();
  const seconds = (performance.now() - startedMs) / 1_000;
  steps.push({ name, seconds });
  print(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
  return value;
}

/** Settings of whoever runs this are none of a newcomer's; ports are free ones, so that nothing is in the way. */
async function newcomerEnvironment(home: string): Promise<Record<string, string>> {
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(FERMATA|TEMPORAL|npm)_/.test(entry[0]),
  );
  const ports: Record<string, string> = {};
  for (const name of ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI']) {
    ports[`FERMATA_${name}_PORT`] = String(await findFreePort(host));
  }
  return { ...Object.fromEntries(own), ...ports, npm_config_cache: join(home, 'npm'), PIP_NO_CACHE_DIR: '1' };
}

async function runShell(command: string, cwd: string, env: Record<string, string>): Promise<string> {
  const child = spawn('sh', ['-c', command], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: stepLimitMs,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command}: exit code ${code}\n${output}`);
  return output;
}

/** Resolves with what it printed until it was ready. */
async function untilReady(child: ChildProcess): Promise<string> {
  return await new Promise((resolveReady, reject) => {
    let output = '';
    const timer = setTimeout(() => reject(new Error(`not ready in time:\n${output}`)), stepLimitMs);
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      done();
    };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('Ctrl-C stops everything')) settle(() => resolveReady(output));
    });
    child.once('exit', (code) => settle(() => reject(new Error(`npm start ended with ${code}:\n${output}`))));
  });
}

async function seeRun(executablePath: string, url: string, task: string): Promise<void> {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  try {
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByText(task).first().waitFor({ timeout: 60_000 });
  } finally {
    await browser.close();
  }
}

const home = await mkdtemp(join(tmpdir(), 'fermata-first-minutes-'));
let running: ChildProcess | null = null;
try {
  const executablePath = await ensureChromium(join(root, '.fermata'), process.env, print);
  const environment = await newcomerEnvironment(home);
  const clone = join(home, 'fermata');
  await step(
    'git clone',
    async () => await runShell(`git clone --quiet '${root}' '${clone}'`, home, environment),
  );
  const readme = await readFile(join(clone, 'README.md'), 'utf8');
  const start = readmeCommand(readme, /^npm start\b/);
  const ready = await step(start, async () => {
    running = spawn('sh', ['-c', `exec ${start}`], {
      cwd: clone,
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return await untilReady(running);
  });
  const spawnRun = readmeCommand(readme, /^npx fermata run\b/);
  const answer = await step(spawnRun, async () => await runShell(spawnRun, clone, environment));
  const pageUrl = /page\s+(http:\S+)/.exec(ready)?.[1];
  const task = /"([^"]+)"/.exec(spawnRun)?.[1];
  if (pageUrl === undefined || task === undefined) throw new Error(`no page is named:\n${ready}`);
  await step(`the run is seen at ${pageUrl}`, async () => await seeRun(executablePath, pageUrl, task));
  print(`\nthe run's answer: ${answer.trim().slice(0, 200)}`);
  const total = steps.reduce((sum, { seconds }) => sum + seconds, 0);
  process.exitCode = await publish(
    'first-minutes',
    [bar('from a fresh clone to a run seen in the page s', total, '<=', limitSeconds)],
    { details: { steps } },
  );
} finally {
  const leaving = running as ChildProcess | null;
  if (leaving !== null && leaving.exitCode === null) {
    const ended = once(leaving, 'exit');
    leaving.kill('SIGTERM');
    await ended;
  }
  await rm(home, { recursive: true, force: true });
}
