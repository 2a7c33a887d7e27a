/** What can be asked about runs by page, by tree, in full and as they change, and about the pool. */
import type { Addresses } from '../../contracts/addresses.ts';
import type { ConfigStatus } from '../../contracts/config-status.ts';
import type { Asker } from './asker.ts';
import { readLiveTurn, type LiveTurn, type LiveTurnRequest } from './live-turn.ts';
import { lookAtRuns } from './look-at-runs.ts';
import { pageOfRuns, type RunPage, type RunPageRequest } from './page-of-runs.ts';
import { PoolClient, poolFor, type PoolView } from './pool-client.ts';
import { readTimeline, type RunTimeline } from './read-timeline.ts';
import {
  readMessages,
  transcriptPage,
  type TranscriptPage,
  type TranscriptRequest,
} from './read-transcript.ts';
import { RunFeed, type FeedListener, type RunFeedOptions } from './run-feed.ts';
import { parseHandle, type RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';
import { treeOfRuns, type RunTree } from './tree-of-runs.ts';

export interface RunReadsConfig {
  /**
   * Root of the scheduler, which knows the pool, or of several, of which one is active; null or absent: nobody
   * can be asked about it.
   */
  readonly schedulerUrl?: Addresses | null | undefined;
  /** What the services send to each other; null or absent: nothing. */
  readonly token?: string | null | undefined;
  /** Milliseconds a call to Temporal may take, all its retries together. */
  readonly temporalCallMs?: number | undefined;
  /** Milliseconds a worker has to tell a transcript. Default 10 s. */
  readonly transcriptMs?: number | undefined;
  /** How those who listen to changes are told. */
  readonly feed?: RunFeedOptions | undefined;
}

/** Runs are named by text as it came in; what is no handle of a run that the asker may see is a UserFault. */
export interface RunReads {
  /** Runs that the asker may see, filtered. */
  page(request: RunPageRequest, asker: Asker): Promise<RunPage>;
  transcript(handle: string, request: TranscriptRequest, asker: Asker): Promise<TranscriptPage>;
  timeline(handle: string, asker: Asker): Promise<RunTimeline>;
  /** What its model writes now; null: no turn is at work, or its worker cannot be asked. */
  liveTurn(
    handle: string,
    request: LiveTurnRequest,
    asker: Asker,
    signal: AbortSignal,
  ): Promise<LiveTurn | null>;
  /** The tree that the run belongs to. */
  tree(handle: string, asker: Asker): Promise<RunTree>;
  pool(asker: Asker): Promise<PoolView>;
  /** What the scheduler tells of its configuration; null: it cannot be asked, or tells nothing of it. */
  schedulerConfig(): Promise<ConfigStatus | null>;
  /** @returns what ends it; see {@link RunFeed.join}. */
  listen(listener: FeedListener, after: string | null): Promise<() => void>;
  close(): void;
}

/** Milliseconds a look at all runs at work may take. */
const lookMs = 10_000;

export function createRunReads(
  deps: { readonly temporal: TemporalLink; readonly reader: RunReader },
  config: RunReadsConfig,
): RunReads {
  const { temporal, reader } = deps;
  const pool = new PoolClient(config.schedulerUrl ?? null, config.token ?? null);
  const limitMs = Math.min(lookMs, config.temporalCallMs ?? lookMs);
  const feed = new RunFeed(
    { look: (sinceMs) => lookAtRuns(temporal, sinceMs, limitMs), pool: () => pool.status() },
    config.feed,
  );
  const known = async (handle: string, asker: Asker): Promise<RunView> =>
    await reader.read(parseHandle(handle), asker);
  return {
    page: (request, asker) => pageOfRuns(temporal, request, asker),
    async transcript(text, request, asker) {
      const { handle } = await known(text, asker);
      return transcriptPage(await readMessages(temporal, handle, config.transcriptMs), request);
    },
    timeline: async (text, asker) => await readTimeline(temporal, (await known(text, asker)).handle),
    async liveTurn(text, request, asker, signal) {
      const { handle } = await known(text, asker);
      return await readLiveTurn({ temporal, token: config.token ?? null }, handle, request, signal);
    },
    tree: async (text, asker) => await treeOfRuns(deps, await known(text, asker), asker),
    pool: async (asker) => poolFor(await pool.status(), asker),
    async schedulerConfig() {
      const status = await pool.status().catch(() => null);
      return status?.config ?? null;
    },
    listen: (listener, after) => feed.join(listener, after),
    close: () => feed.close(),
  };
}
