/**
 * `npm run bench -- durability`: fermata's parts, each a process of its own, under runs of all kinds, while a
 * seeded killer ends one after the other with kill -9 at random moments and starts it again at its place.
 * Clients ask again. Then every run, turn and tool call is accounted for.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { publish } from '../bars.ts';
import { connectModern } from '../mcp-clients.ts';
import { aftermathOf, allWentOn, slowestStops } from './aftermath.ts';
import { runClient, type ServedClient } from './client.ts';
import { planKills } from './kill-plan.ts';
import { keepHistories } from './keep-histories.ts';
import { killAll } from './killer.ts';
import type { DurabilityOptions } from './options.ts';
import { readTranscripts } from './read-transcripts.ts';
import { Recorder, type ClientCall } from './recorder.ts';
import { startSite, type Site } from './site.ts';
import { aftermathTable, countLines, durabilityBars, runsTable, stopLines } from './summary.ts';
import { judge } from './verdict.ts';

/** What is lost after the last kill has this long to show that it is not. */
const settleLimitMs = 150_000;
const collectEveryMs = 100;
const callTimeoutMs = 15_000;
const slowestShown = 6;

const progress = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** @returns the exit code: 1 when a bar was missed. */
export async function runDurabilityBench(options: DurabilityOptions): Promise<0 | 1> {
  const site = await startSite(process.env, progress);
  let code: 0 | 1 = 1;
  try {
    code = await measure(site, options);
  } finally {
    await site.close(code !== 0);
    if (code !== 0) progress(`logs and Temporal's database are kept in ${site.stateDir}`);
  }
  return code;
}

async function measure(site: Site, options: DurabilityOptions): Promise<0 | 1> {
  const recorder = new Recorder({ engines: site.engines, tools: site.tools });
  const startedMs = performance.now();
  const collecting = setInterval(() => recorder.collect(), collectEveryMs);
  let failedStarts = 0;
  try {
    failedStarts = await killUnderLoad(site, options, recorder);
  } finally {
    clearInterval(collecting);
  }
  const killingSeconds = (performance.now() - startedMs) / 1_000;
  progress('reading the transcripts ...');
  const handles = recorder.runs.flatMap((run) => (run.endMs === null ? [] : (run.handle ?? [])));
  const transcripts = await readTranscripts(site.temporalAddress, handles);
  const seen = recorder.observations();
  const verdict = judge(seen, transcripts);
  const aftermath = aftermathOf(seen, transcripts);
  await writeFile(join(site.stateDir, 'observations.json'), JSON.stringify(seen));
  print(
    `${seen.kills.length} kills in ${killingSeconds.toFixed(0)} s under ${options.clients} runs at a time (seed ${options.seed}; ${failedStarts} starts failed)`,
  );
  for (const line of [...runsTable(seen), '', ...aftermathTable(aftermath), '', ...countLines(verdict)])
    print(line);
  for (const line of [...verdict.lost, ...verdict.toolsLeftOut, ...verdict.unsettled].slice(0, 20))
    print(`  ${line}`);
  const stops = slowestStops(seen, options.only ?? 'worker', slowestShown);
  await keepHistories(
    site.temporalAddress,
    site.stateDir,
    stops.flatMap(({ run }) => run.handle ?? []),
  );
  for (const line of stopLines(stops)) print(line);
  return await publish('durability', durabilityBars(options, verdict, aftermath), {
    details: {
      options,
      killingSeconds,
      failedStarts,
      verdict,
      aftermath,
      failures: failuresOf(seen.clientCalls),
    },
  });
}

/** Resolves when all kills are done and all runs have ended, or are given up. */
async function killUnderLoad(site: Site, options: DurabilityOptions, recorder: Recorder): Promise<number> {
  const giveUp = new AbortController();
  let next = 0;
  let killing = true;
  const nextIndex = (): number | null => {
    if (!killing) return null;
    next += 1;
    return next - 1;
  };
  const { mcpUrl, parts } = site;
  const connect = async (): Promise<ServedClient> => ({
    ...(await connectModern(mcpUrl)),
    server: () => null,
  });
  const clients = Array.from({ length: options.clients }, async () => {
    await runClient({
      connect,
      callTimeoutMs,
      recorder,
      seed: options.seed,
      nextIndex,
      giveUp: giveUp.signal,
    });
  });
  const everyone = Promise.all(clients);
  everyone.catch(() => undefined);
  let failedStarts: number;
  try {
    failedStarts = await killAll(planKills(options.kills, options.seed, options.only), {
      parts,
      kills: recorder.kills,
      allWentOn: (kill) => allWentOn(kill, recorder.observations()),
      progress,
    });
    killing = false;
    progress('all kills are done; waiting for the last runs ...');
    const timer = setTimeout(() => giveUp.abort(), settleLimitMs);
    await everyone;
    clearTimeout(timer);
  } finally {
    killing = false;
    giveUp.abort();
    await everyone.catch(() => undefined);
  }
  return failedStarts;
}

/** How often clients heard what, most often first. */
function failuresOf(calls: readonly ClientCall[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { tool, failure } of calls) {
    if (failure === null) continue;
    const words = `${tool}: ${failure.replaceAll(/run_\w+/g, 'run_…').slice(0, 200)}`;
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a).slice(0, 40));
}
