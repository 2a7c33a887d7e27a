/**
 * Everything that can be asked about runs, without a word of MCP or HTTP: the tools and the run API are
 * two doors to this one service. It holds no state of a run; Temporal does.
 */
import type { Addresses } from '../../contracts/addresses.ts';
import type { Callers } from '../../contracts/config-file.ts';
import type { DecideRequest, DecideResponse } from '../../contracts/decide.ts';
import { defaultMaxRunning } from '../../contracts/run-names.ts';
import type { ToolListing } from '../../contracts/tool-listing.ts';
import { ApprovalLooks, type ApprovalLooksOptions } from './approval-looks.ts';
import { approveRun, type ApproveOutcome } from './approve-run.ts';
import type { Asker } from './asker.ts';
import { awaitRuns, type ApprovalStop, type AwaitOutcome, type AwaitProgress } from './await-runs.ts';
import { CallerLimit } from './caller-limit.ts';
import { cancelRun, type CancelOutcome } from './cancel-run.ts';
import { maxRunningOf } from './max-running.ts';
import { listRuns, type RunList } from './list-runs.ts';
import { ProxyClient } from './proxy-client.ts';
import { parseHandle, RunReader, unknownHandle } from './run-reader.ts';
import { withWholeArguments } from './read-approvals.ts';
import { withBudgets, withSeen } from './read-budgets.ts';
import { readFamily, type RunFamily } from './run-family.ts';
import type { RunView } from './run-view.ts';
import { createRunCounts, type RunCounts } from './run-counts.ts';
import { createRunReads, type RunReads, type RunReadsConfig } from './run-reads.ts';
import { firstInputReader } from '../../telemetry/first-input.ts';
import { RunTraces } from '../../telemetry/run-traces.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { RunWatches } from './run-watches.ts';
import { SharedRead } from './shared-read.ts';
import { spawnRun, type SpawnedRun, type SpawnOrigin } from './spawn-run.ts';
import type { SpawnRequest } from './spawn-request.ts';
import type { TemporalSettings } from '../../temporal/temporal-settings.ts';
import { TemporalLink } from './temporal-link.ts';
import { createToolListing } from './tool-listing.ts';
import { TreeClient } from './tree-client.ts';
import { UserFault } from './user-fault.ts';

export interface RunServiceConfig extends RunReadsConfig {
  readonly temporal: TemporalSettings;
  readonly taskQueue: string;
  /** Root of the proxy, or of several that will do. */
  readonly proxyUrl: Addresses;
  /** Milliseconds a worker has to list the tools. */
  readonly toolListingMs?: number | undefined;
  /** Runs that one caller may have at work at once. Default 100. */
  readonly maxRunning?: number | undefined;
  /** The callers of the configuration as it is now, whose own limits go before that; absent: none. */
  readonly callers?: (() => Callers) | undefined;
  /** Milliseconds without a running run after which the workflow of a tree ends. Default ten minutes. */
  readonly treeIdleMs?: number | undefined;
  /** Milliseconds between two reports of progress. */
  readonly progressMs?: number | undefined;
  /** Where requests are traced; null or absent: nowhere. */
  readonly telemetry?: Telemetry | null | undefined;
  /** How a wait notices that nothing goes on without a decision. */
  readonly approvalLooks?: ApprovalLooksOptions | undefined;
}

/** Runs are named by text as it came in; what is not a known handle is a UserFault. */
export interface AwaitQuery {
  readonly handles: readonly string[];
  readonly mode: 'all' | 'any';
  readonly timeoutMs: number;
  readonly asker: Asker;
  /** What of approvals ends the wait. `opened` also gets their arguments in full, to show them to somebody. */
  readonly stopAt?: ApprovalStop | undefined;
}

/** One run and what belongs to it. */
export interface RunStanding {
  readonly run: RunView;
  readonly family: RunFamily;
}

export interface RunService extends Omit<RunReads, 'close'> {
  spawn(request: SpawnRequest, origin: SpawnOrigin): Promise<SpawnedRun>;
  /** @param report called every ten seconds while it waits. */
  await(
    query: AwaitQuery,
    signal: AbortSignal,
    report?: (progress: AwaitProgress) => Promise<void>,
  ): Promise<AwaitOutcome>;
  status(handle: string, asker: Asker): Promise<RunStanding>;
  list(asker: Asker): Promise<RunList>;
  cancel(handle: string, reason: string | undefined, asker: Asker): Promise<CancelOutcome>;
  /** @param approvalId absent: the only open one. */
  approve(
    handle: string,
    allow: boolean,
    approvalId: string | undefined,
    asker: Asker,
  ): Promise<ApproveOutcome>;
  tools(): Promise<ToolListing>;
  decide(request: DecideRequest, asker: Asker, signal: AbortSignal): Promise<DecideResponse>;
  /** Runs that somebody waits for now. */
  watchedRuns(): number;
  /** How many runs stand how, of all that Temporal keeps; null: it does not answer. */
  runCounts(): Promise<RunCounts | null>;
  /** null when Temporal answers, else what is wrong. */
  temporalFault(): Promise<string | null>;
  close(): Promise<void>;
}

const modelsKeepMs = 10_000;
const treeIdleMs = 600_000;
const treeLimitMs = 30_000;

/** Connects lazily: a service can be made before Temporal and the proxy are there. */
export function createRunService(config: RunServiceConfig): RunService {
  const temporal = new TemporalLink(config.temporal, config.temporalCallMs);
  const proxy = new ProxyClient(config.proxyUrl, config.token ?? null);
  const reader = new RunReader(temporal);
  const watches = new RunWatches(temporal, reader);
  const { taskQueue } = config;
  const toolListing = createToolListing(temporal, { taskQueue, limitMs: config.toolListingMs ?? 15_000 });
  const models = new SharedRead(() => proxy.models(), modelsKeepMs);
  // Probes that come together ask once; none is told an old answer.
  const readiness = new SharedRead(() => temporal.fault(), 0);
  const looks = new ApprovalLooks(reader, config.approvalLooks);
  const awaitDeps = { reader, watches, looks, progressMs: config.progressMs ?? 10_000 };
  const trees = new TreeClient(temporal, {
    taskQueue,
    idleMs: config.treeIdleMs ?? treeIdleMs,
    limitMs: config.temporalCallMs ?? treeLimitMs,
  });
  const { close: closeReads, ...reads } = createRunReads({ temporal, reader }, config);
  const limit = new CallerLimit(temporal, (caller) =>
    maxRunningOf(config.callers?.() ?? {}, caller, config.maxRunning ?? defaultMaxRunning),
  );
  const telemetry = config.telemetry ?? null;
  const traces = telemetry === null ? null : new RunTraces(telemetry, firstInputReader(temporal.client));
  const spawnDeps = { temporal, reader, taskQueue, models, toolListing, trees, limit, traces };
  return {
    ...reads,
    spawn: (request, origin) => spawnRun(spawnDeps, request, origin),
    async await(query, signal, report) {
      const request = { ...query, handles: parseHandles(query.handles) };
      const outcome = await awaitRuns(awaitDeps, request, signal, report);
      const isToBeShown = query.stopAt?.kind === 'opened';
      return await withBudgetsOf(temporal, isToBeShown ? await withArgumentsOf(temporal, outcome) : outcome);
    },
    async status(handle, asker) {
      const found = await withWholeArguments(temporal, await reader.read(parseHandle(handle), asker));
      const [[run = found], family] = await Promise.all([
        withBudgets(temporal, [found]),
        readFamily({ temporal, reader }, found, asker),
      ]);
      return { run: { ...run, budget: withSeen(run.budget, family.subtree) }, family };
    },
    list: (asker) => listRuns(temporal, asker.caller),
    cancel: async (handle, reason, asker) =>
      await cancelRun({ temporal, reader, trees }, parseHandle(handle), reason, asker),
    approve: async (handle, allow, approvalId, asker) =>
      await approveRun(
        { temporal, reader },
        { handle: parseHandle(handle), allow, approvalId: approvalId ?? null },
        asker,
      ),
    tools: () => toolListing.get(),
    decide: (request, asker, signal) => proxy.decide(request, asker, signal),
    watchedRuns: () => watches.size,
    runCounts: createRunCounts(temporal),
    temporalFault: () => readiness.get(),
    async close() {
      closeReads();
      await temporal.close();
    },
  };
}

async function withBudgetsOf(temporal: TemporalLink, outcome: AwaitOutcome): Promise<AwaitOutcome> {
  return { ...outcome, runs: await withBudgets(temporal, outcome.runs) };
}

async function withArgumentsOf(temporal: TemporalLink, outcome: AwaitOutcome): Promise<AwaitOutcome> {
  const runs = outcome.runs.map(async (run) => await withWholeArguments(temporal, run));
  return { ...outcome, runs: await Promise.all(runs) };
}

/** Names every text that is no handle at once, so that one answer is enough to mend the call. */
function parseHandles(texts: readonly string[]) {
  const wrong: string[] = [];
  const handles = texts.flatMap((text) => {
    try {
      return [parseHandle(text)];
    } catch (error) {
      if (!(error instanceof UserFault)) throw error;
      wrong.push(text);
      return [];
    }
  });
  if (wrong.length > 0) throw unknownHandle(wrong);
  return handles;
}
