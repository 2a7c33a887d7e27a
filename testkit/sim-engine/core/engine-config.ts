/** What a simulated engine can be told about itself; times in milliseconds of its own clock. */

export interface EngineConfig {
  /** KV memory, in blocks of 16 tokens. */
  readonly totalBlocks: number;
  /** Requests in the batch at once. */
  readonly maxRunning: number;
  /** Requests that may wait beyond those; one more is refused. */
  readonly maxQueue: number;
  /** Longest prompt plus output of one request, in tokens. */
  readonly maxContextTokens: number;
  /** Tokens computed in one step at most, decoding included. */
  readonly chunkTokens: number;
  readonly prefillTokensPerSecond: number;
  /** Cost of a step in which at least one request gets a token. */
  readonly decodeBaseMs: number;
  /** Added to it for each request that gets one. */
  readonly decodePerRequestMs: number;
  /** Each step takes up to this share more or less than computed, drawn from the seed; 0 is exact. */
  readonly jitter: number;
  readonly seed: number;
  /** `first`: only the first token of a request is reported; for simulations that count nothing else. */
  readonly reportTokens: 'all' | 'first';
}

/** As published mock workers have it; memory for 65,536 tokens. */
export const defaultEngineConfig: EngineConfig = {
  totalBlocks: 4_096,
  maxRunning: 64,
  maxQueue: 512,
  maxContextTokens: 32_768,
  chunkTokens: 2_048,
  prefillTokensPerSecond: 8_000,
  decodeBaseMs: 6,
  decodePerRequestMs: 0.35,
  jitter: 0,
  seed: 1,
  reportTokens: 'all',
};
