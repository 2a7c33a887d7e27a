/** Every bound of the proxy that is not part of the scheduler's policy, with what happens at it. */
export interface ProxyLimits {
  /** Larger bodies are refused with 413. */
  readonly bodyBytes: number;
  /** Larger request heads are refused. */
  readonly headerBytes: number;
  /** A client has this long to send its request. */
  readonly requestTimeoutMs: number;
  /** A replica that does not accept a connection within this is unreachable. */
  readonly connectTimeoutMs: number;
  /** A client that reads nothing for this long is cut off and its engine request closed. */
  readonly clientStallMs: number;
  /** On close, turns in flight get this long to finish, then are cut. */
  readonly drainMs: number;
  /** After that, what is still to be written to clients gets this long before connections are closed. */
  readonly lastBytesMs: number;
  /** A link that answers no ping within this is taken for lost. */
  readonly linkPingMs: number;
  /** The same where there are several schedulers: one that has frozen is not to be waited for. */
  readonly linkPingOfSeveralMs: number;
  /** A scheduler that does not answer the request for a link within this is away. */
  readonly linkOpenMs: number;
  /** The same where there are several. */
  readonly linkOpenOfSeveralMs: number;
  /** How often the scheduler is told which turns still receive bytes. */
  readonly progressEveryMs: number;
  /** More held turns in this process are refused with `overloaded`. */
  readonly heldTurns: number;
  /** Live runs remembered for a resync; the longest idle ones are forgotten above. */
  readonly liveRuns: number;
  /** Conversations and tool-call ids remembered; the oldest ones are forgotten above. */
  readonly rememberedKeys: number;
  /** Callers whose use of their rate limits is counted; the longest idle ones begin anew above. */
  readonly limitedCallers: number;
  /** A Redis that does not answer within this is taken for away, and each proxy counts alone. */
  readonly redisAnswerMs: number;
  /** Runs and conversations without activity for this long are forgotten. */
  readonly forgetAfterMs: number;
  readonly sweepEveryMs: number;
  /** How often a turn that met a full engine queue (503) is held again before its client sees the 503. */
  readonly queueFullRetries: number;
  /** Wait before such a turn is held again, when the engine names none. */
  readonly queueFullDelayMs: number;
  /** Longest such wait, whatever the engine names. */
  readonly queueFullMaxDelayMs: number;
}

export const defaultLimits: ProxyLimits = {
  bodyBytes: 32 * 1024 * 1024,
  headerBytes: 64 * 1024,
  requestTimeoutMs: 300_000,
  connectTimeoutMs: 2_000,
  clientStallMs: 60_000,
  drainMs: 30_000,
  lastBytesMs: 1_000,
  linkPingMs: 5_000,
  linkPingOfSeveralMs: 1_500,
  linkOpenMs: 2_000,
  linkOpenOfSeveralMs: 1_000,
  progressEveryMs: 60_000,
  heldTurns: 100_000,
  liveRuns: 100_000,
  rememberedKeys: 100_000,
  limitedCallers: 20_000,
  redisAnswerMs: 100,
  forgetAfterMs: 30 * 60_000,
  sweepEveryMs: 60_000,
  queueFullRetries: 3,
  queueFullDelayMs: 1_000,
  queueFullMaxDelayMs: 10_000,
};
