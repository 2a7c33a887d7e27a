/** What a recording comes to, within its window alone. Pure. Times in ms, rates a minute or second as named. */
import type { ServiceClass } from '../../contracts/service-class.ts';
import type { Recording, RunRecord, TurnRecord } from './recorder.ts';
import { mean, quantile } from './statistics.ts';

export const metricNames = [
  'interactiveRunsPerMinute',
  'batchRunsPerMinute',
  'turnsPerMinute',
  'tokensPerSecond',
  'interactiveP50Ms',
  'interactiveP95Ms',
  'batchP50Ms',
  'batchP95Ms',
  'interactiveHoldP50Ms',
  'interactiveHoldP95Ms',
  'batchHoldP50Ms',
  'batchHoldP95Ms',
  'interactiveFirstByteP95Ms',
  'longestBatchHoldMs',
  'cachedShare',
  'turnMeanMs',
  'preemptions',
  'failedRuns',
] as const;

export type MetricName = (typeof metricNames)[number];
/** null: there was nothing to measure. */
export type Metrics = Readonly<Record<MetricName, number | null>>;

export function measure(recording: Recording): Metrics {
  const { startMs, endMs } = recording;
  const minutes = (endMs - startMs) / 60_000;
  const inWindow = (atMs: number | null): boolean => atMs !== null && atMs > startMs && atMs <= endMs;
  const finished = recording.turns.filter((turn) => inWindow(turn.finishedAtMs));
  const ended = recording.runs.filter((run) => inWindow(run.endedAtMs));
  const completed = ended.filter((run) => !run.failed);
  const holds = (serviceClass: ServiceClass): number[] => holdsOf(recording, serviceClass);
  const lasted = (serviceClass: ServiceClass): number[] =>
    answerWaits(recording, (run) => run.class === serviceClass);
  const prompt = sum(finished, (turn) => turn.promptTokens);
  return {
    interactiveRunsPerMinute: ratePerMinute(completed, 'interactive', minutes),
    batchRunsPerMinute: ratePerMinute(completed, 'batch', minutes),
    turnsPerMinute: finished.length / minutes,
    tokensPerSecond: (prompt + sum(finished, (turn) => turn.outputTokens)) / (minutes * 60),
    interactiveP50Ms: quantile(lasted('interactive'), 0.5),
    interactiveP95Ms: quantile(lasted('interactive'), 0.95),
    batchP50Ms: quantile(lasted('batch'), 0.5),
    batchP95Ms: quantile(lasted('batch'), 0.95),
    interactiveHoldP50Ms: quantile(holds('interactive'), 0.5),
    interactiveHoldP95Ms: quantile(holds('interactive'), 0.95),
    batchHoldP50Ms: quantile(holds('batch'), 0.5),
    batchHoldP95Ms: quantile(holds('batch'), 0.95),
    interactiveFirstByteP95Ms: quantile(
      firstByteWaits(recording, (turn) => turn.class === 'interactive'),
      0.95,
    ),
    longestBatchHoldMs: quantile(holds('batch'), 1),
    cachedShare: prompt === 0 ? null : sum(finished, (turn) => turn.cachedTokens) / prompt,
    turnMeanMs: mean(finished.map((turn) => (turn.finishedAtMs ?? 0) - turn.arrivedAtMs)),
    preemptions: recording.preemptions,
    failedRuns: ended.length - completed.length,
  };
}

/** Time from arrival to the first byte of the reply, of turns that got it within the window. */
export function firstByteWaits(recording: Recording, wanted: (turn: TurnRecord) => boolean): number[] {
  return recording.turns.flatMap((turn) => {
    const atMs = turn.firstByteAtMs;
    const counts = atMs !== null && atMs > recording.startMs && wanted(turn);
    return counts ? [atMs - turn.arrivedAtMs] : [];
  });
}

/** Time from the start to the answer, of runs that got it within the window. */
export function answerWaits(recording: Recording, wanted: (run: RunRecord) => boolean): number[] {
  return recording.runs.flatMap((run) => {
    const atMs = run.endedAtMs;
    return atMs !== null && atMs > recording.startMs && !run.failed && wanted(run)
      ? [atMs - run.startedAtMs]
      : [];
  });
}

/** Of turns admitted within the window, and of those held at its end, as long as they have been held. */
function holdsOf({ turns, startMs, endMs }: Recording, serviceClass: ServiceClass): number[] {
  return turns.flatMap((turn) => {
    if (turn.class !== serviceClass || (turn.admittedAtMs ?? endMs) <= startMs) return [];
    return [(turn.admittedAtMs ?? endMs) - turn.arrivedAtMs];
  });
}

function ratePerMinute(runs: readonly RunRecord[], serviceClass: ServiceClass, minutes: number): number {
  return runs.filter((run) => run.class === serviceClass).length / minutes;
}

function sum(turns: readonly TurnRecord[], of: (turn: TurnRecord) => number): number {
  return turns.reduce((total, turn) => total + of(turn), 0);
}

/** What each caller got within the window: prompt tokens 1, cached ones 0.1, output 2 (rule 5 of the core). */
export function serviceByCaller(recording: Recording): Map<string, number> {
  const service = new Map<string, number>();
  for (const turn of recording.turns) {
    if (turn.finishedAtMs === null || turn.finishedAtMs <= recording.startMs) continue;
    const uncached = turn.promptTokens - turn.cachedTokens;
    const tokens = uncached + 0.1 * turn.cachedTokens + 2 * turn.outputTokens;
    service.set(turn.caller, (service.get(turn.caller) ?? 0) + tokens);
  }
  return service;
}
