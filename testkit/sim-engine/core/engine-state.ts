/** The state of a simulated engine, what goes in and what comes out; see advance.ts for the rules. */
import { createBlockPool, type BlockPool } from './block-pool.ts';
import { defaultEngineConfig, type EngineConfig } from './engine-config.ts';
import { createGenerator, type Generator } from './random.ts';

/** One request as the engine sees it: lengths and the identity of its token blocks, no text. */
export interface EngineRequest {
  readonly id: string;
  /** At least 1. */
  readonly promptTokens: number;
  /** Tokens it will produce; at least 1. */
  readonly outputTokens: number;
  /** Chained hash of each full block of prompt and output together, see {@link blockHashes} of tokens.ts. */
  readonly blockHashes: readonly number[];
}

export interface LiveRequest {
  readonly spec: EngineRequest;
  phase: 'waiting' | 'running' | 'gone';
  /** Tokens whose keys and values are in memory. */
  computedTokens: number;
  /** Prompt plus tokens produced so far. */
  knownTokens: number;
  blocks: number[];
  /** Prompt tokens found in the cache at its first admission; null before that. */
  cachedTokens: number | null;
}

export interface StepWork {
  readonly request: LiveRequest;
  readonly tokens: number;
}

export interface EngineCounters {
  accepted: number;
  refused: number;
  finished: number;
  aborted: number;
  preemptions: number;
  promptTokens: number;
  cachedTokens: number;
  /** Prompt tokens really computed, recomputation after a preemption included. */
  prefillTokens: number;
  outputTokens: number;
  steps: number;
}

export interface EngineState {
  readonly config: EngineConfig;
  readonly pool: BlockPool;
  readonly generator: Generator;
  nowMs: number;
  /** Every request that is running or waiting. */
  readonly live: Map<string, LiveRequest>;
  /** In order of admission. */
  readonly running: LiveRequest[];
  /** First come, first served. */
  readonly waiting: Map<string, LiveRequest>;
  /** Preempted requests; they come back before those that wait. */
  readonly preempted: LiveRequest[];
  step: { readonly endMs: number; readonly work: readonly StepWork[] } | null;
  /** `pool.changes` when the first waiting request last found too little memory. */
  blockedAt: number | null;
  readonly counters: EngineCounters;
}

export type EngineEvent =
  | { readonly type: 'submit'; readonly atMs: number; readonly request: EngineRequest }
  | { readonly type: 'abort'; readonly atMs: number; readonly id: string }
  | { readonly type: 'elapsed'; readonly atMs: number };

export type RefusalReason = 'queue-full' | 'too-long' | 'duplicate-id';

export type EngineOutput =
  | { readonly type: 'refused'; readonly atMs: number; readonly id: string; readonly reason: RefusalReason }
  | { readonly type: 'started'; readonly atMs: number; readonly id: string; readonly cachedTokens: number }
  | { readonly type: 'token'; readonly atMs: number; readonly id: string; readonly index: number }
  | { readonly type: 'preempted'; readonly atMs: number; readonly id: string }
  | { readonly type: 'finished'; readonly atMs: number; readonly id: string; readonly cachedTokens: number }
  | { readonly type: 'aborted'; readonly atMs: number; readonly id: string };

/** An idle engine at time 0. */
export function createEngine(config: Partial<EngineConfig> = {}): EngineState {
  const complete = { ...defaultEngineConfig, ...config };
  return {
    config: complete,
    pool: createBlockPool(complete.totalBlocks),
    generator: createGenerator(complete.seed),
    nowMs: 0,
    live: new Map(),
    running: [],
    waiting: new Map(),
    preempted: [],
    step: null,
    blockedAt: null,
    counters: {
      accepted: 0,
      refused: 0,
      finished: 0,
      aborted: 0,
      preemptions: 0,
      promptTokens: 0,
      cachedTokens: 0,
      prefillTokens: 0,
      outputTokens: 0,
      steps: 0,
    },
  };
}

/** What an engine reports of its load. */
export function loadOf(state: EngineState): {
  readonly running: number;
  readonly waiting: number;
  readonly usedBlocks: number;
  readonly totalBlocks: number;
} {
  return {
    running: state.running.length,
    waiting: state.waiting.size + state.preempted.length,
    usedBlocks: state.pool.total - state.pool.unused,
    totalBlocks: state.pool.total,
  };
}
