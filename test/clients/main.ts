/**
 * `npm run test:clients [-- NAME …]`: drives the real client programs and frameworks against the whole
 * real stack, prints one bar a claim, and exits 1 if one is missed. Names are those of scenarios.ts. A
 * model of ours stands in for theirs; besides the package registries, at the first start, nothing outside
 * this machine is reached.
 */
import { delimiter, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { isMet, publish } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import { parseSettings } from '../../contracts/settings.ts';
import type { ClientResult } from './client-result.ts';
import { startClientStack } from './client-stack.ts';
import { startOutsideGuard } from './outside-guard.ts';
import { selectScenarios } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';

const clientMs = 120_000;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

function show(scenario: Scenario, { ended, seen }: ClientResult, log: string): void {
  for (const one of ended) {
    const late = one.timedOut ? ', killed at its bound' : '';
    print(`\n${scenario.name} after ${Math.round(one.wallMs)} ms${late}`);
    print(`--- its output\n${one.stdout.slice(-8_000)}\n--- its errors\n${one.stderr.slice(-8_000)}`);
  }
  print(`--- what was seen of it\n${JSON.stringify(seen, null, 1).slice(0, 40_000)}`);
  print(`--- warnings of the stack\n${log}\n`);
}

async function driveAll(wanted: readonly Scenario[], signal: AbortSignal): Promise<0 | 1> {
  const { stateDir } = parseSettings(process.env);
  const installed = new Map<Scenario, string>();
  for (const scenario of wanted) {
    const options = { stateDir, environment: process.env, signal, print };
    installed.set(scenario, await scenario.install(options));
  }
  const guard = await startOutsideGuard();
  // The agents look for git, a shell and ripgrep; nothing else of ours is theirs to see.
  const path = ['/usr/local/bin', '/usr/bin', '/bin', dirname(process.execPath)].join(delimiter);
  const env = { PATH: path, ...guard.env };
  const bars: Bar[] = [];
  const details: Record<string, unknown> = {};
  try {
    const stack = await startClientStack({ toolsDir: stateDir, environment: process.env, print });
    try {
      for (const [scenario, program] of installed) {
        print(`driving ${scenario.name} ...`);
        const result = await scenario.drive(program, { stack, env, timeoutMs: clientMs, signal });
        signal.throwIfAborted();
        for (const line of result.report ?? []) print(line);
        bars.push(...result.bars);
        const wallMs = result.ended.map((one) => Math.round(one.wallMs));
        details[scenario.name] = { wallMs, ...result.seen };
        if (result.bars.some((one) => !isMet(one))) show(scenario, result, stack.log.warnings);
      }
    } finally {
      await stack.close();
    }
  } finally {
    await guard.close();
  }
  const packages = Object.assign({}, ...wanted.map((scenario) => scenario.packages)) as Record<
    string,
    string
  >;
  return await publish('clients', bars, { packages, details: { ...details, outsideRefused: guard.refused } });
}

const { positionals } = parseArgs({ allowPositionals: true });
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(name)));
try {
  process.exit(await driveAll(selectScenarios(positionals), stop.signal));
} catch (error) {
  if (error instanceof RangeError) {
    print(error.message);
    process.exit(2);
  }
  print(
    stop.signal.aborted
      ? 'stopped'
      : `test:clients: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exit(stop.signal.aborted ? 130 : 1);
}
