/**
 * `npm run bench -- flood-mcp [--quick]`: the flood's 48 batch and 4 interactive agents as sub-agents that MCP
 * clients spawn and await, against the same work in bare loops on SGLang's router. Engines are simulated, in
 * real time; tools, Temporal and everything else are real.
 */
import { loadavg } from 'node:os';
import { publish } from '../bars.ts';
import { seedsOf } from '../flood/plan.ts';
import { writePlot } from '../plots/write-plot.ts';
import type { StartRival } from '../rivals/rival.ts';
import { makeWorkDir, toolsDir, withoutSettings } from '../site/work-dir.ts';
import { planOf, type FloodMcpPlan } from './plan.ts';
import { floodMcpBars, floodMcpChart, floodMcpTable } from './summary.ts';
import { runRepeat, type FloodMcpRepeat } from './window.ts';

/** Measures and gives what was found; prints only progress. */
export async function runFloodMcp(
  plan: FloodMcpPlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
  startRouter?: StartRival,
): Promise<readonly FloodMcpRepeat[]> {
  const workDir = await makeWorkDir('flood-mcp');
  try {
    const site = { workDir: workDir.path, toolsDir, environment: withoutSettings(environment), progress };
    const repeats: FloodMcpRepeat[] = [];
    for (const [index, seed] of seedsOf(plan.repeats).entries()) {
      progress(`repeat ${index + 1} of ${plan.repeats}`);
      repeats.push(await runRepeat(plan, seed, site, startRouter));
    }
    return repeats;
  } finally {
    await workDir.close();
  }
}

/** @returns the exit code. */
export async function runFloodMcpBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const repeats = await runFloodMcp(plan, process.env, (line) => process.stderr.write(`${line}\n`));
  const after = loadavg();
  process.stdout.write(
    `\n${plan.scenario.about}\n${floodMcpTable(repeats)}\n\nMedian of ${plan.repeats} repeats (lowest..highest), both sides at the same time. Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  for (const serviceClass of ['interactive', 'batch'] as const) {
    const note = `first repeat, ${new Date().toISOString().slice(0, 10)}`;
    await writePlot(`flood-mcp-${serviceClass}`, floodMcpChart(repeats, plan, serviceClass, note));
  }
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('flood-mcp', floodMcpBars(repeats), {
    packages: Object.fromEntries(
      repeats.flatMap(({ windows }) =>
        windows.flatMap(({ side, version }) => (version === null ? [] : [[side, version] as const])),
      ),
    ),
    details: { quick, plan, seconds, loadAverage: { before, after }, repeats },
  });
}
