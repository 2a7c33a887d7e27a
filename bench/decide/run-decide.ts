/**
 * `npm run bench -- decide [--quick]`: what a classification costs through the proxy over the same request sent
 * to the engine itself, alone and 20 at a time: by a one-shot engine, and by one generative token.
 */
import { cpus, loadavg } from 'node:os';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { publish } from '../bars.ts';
import { writePlot } from '../plots/write-plot.ts';
import { startGateway } from '../site/gateway.ts';
import { replicasOf, startSimulatedPool, type PoolEngine } from '../site/simulated-pool.ts';
import { makeWorkDir, withoutSettings } from '../site/work-dir.ts';
import { measureDecide, type DecideResult } from './measure.ts';
import { planOf, type DecidePlan } from './plan.ts';
import { decideBars, decideChart, decideTable } from './summary.ts';

const engines = [
  { id: 'classifier', kind: 'one-shot', model: 'sim-classifier' },
  { id: 'generator', kind: 'generative', model: 'sim-small' },
];

/** Measures and gives what was found; prints only progress. */
export async function runDecide(
  plan: DecidePlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<DecideResult> {
  const parts: Closable[] = [];
  try {
    const workDir = await makeWorkDir('decide');
    parts.push(workDir);
    const place = { workDir: workDir.path, environment: withoutSettings(environment) };
    const pool = await startSimulatedPool('engines', { engines, toolServer: null }, place);
    parts.push(pool);
    const gateway = await startGateway('fermata', { pool: replicasOf(pool.engines) }, place);
    parts.push(gateway);
    const ofKind = (kind: PoolEngine['kind']): PoolEngine => {
      const found = pool.engines.find((engine) => engine.kind === kind);
      if (found === undefined) throw new RangeError(`no ${kind} engine`);
      return found;
    };
    return await measureDecide(
      {
        engines: { 'one-shot': ofKind('one-shot'), labels: ofKind('generative') },
        gatewayUrl: gateway.url,
        progress,
      },
      plan,
    );
  } finally {
    await closeInReverse(parts);
  }
}

/** @returns the exit code. */
export async function runDecideBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const result = await runDecide(plan, process.env, (line) => process.stderr.write(`${line}\n`));
  const after = loadavg();
  process.stdout.write(
    `\n${decideTable(result, plan.cases)}\n\nMedian of ${plan.repeats} repeats (lowest..highest). `,
  );
  process.stdout.write(
    `${result.compared} requests were sent by both arms, ${result.different} got different labels. Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  for (const kind of ['one-shot', 'labels'] as const) {
    const note = `${cpus().length} cores, ${new Date().toISOString().slice(0, 10)}`;
    await writePlot(`decide-${kind}`, decideChart(result, plan.cases, kind, note));
  }
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('decide', decideBars(result, plan.cases), {
    details: { quick, plan, seconds, loadAverage: { before, after }, ...result },
  });
}
