/**
 * The budgets of callers in Redis, which several proxies share. An answer that does not come within the
 * bound counts as none: Redis is then away until it answers a ping in time again, and is not asked
 * meanwhile, so only the requests that met the outage waited for it. What was counted elsewhere during an
 * outage is not told to Redis afterwards: by the minute, budgets recover anyway.
 */
import { createClient, defineScript } from '@redis/client';
import type { Logger } from 'pino';
import type { RateLimits } from '../../contracts/config-file.ts';
import type { Caller } from '../../contracts/ids.ts';
import { budgetScript } from './budget-script.ts';
import { limitNames, type Request, type Verdict } from './budget.ts';

const retryEveryMs = 500;
/** At the end, for what is still to be counted. */
const lastAnswersWithinMs = 200;
/** A connection on which nothing comes for this long, in spite of the pings, is dead. */
const silentAfterMs = 5_000;
const pingEveryMs = 2_000;
/** Commands that may wait for an answer; further ones fail at once. */
const maxWaiting = 10_000;
const firstConnectionWithinMs = 1_000;

export interface SharedBudgets {
  /** Whether Redis is counting. */
  readonly up: boolean;
  /** Host and port, for people; without user and password. */
  readonly address: string;
  /** null: Redis did not answer in time, and whether it has counted is not known. Never rejects. */
  take(caller: Caller, limits: RateLimits, request: Request): Promise<Verdict | null>;
  /** In order with what was taken before; nobody waits for it, and it is lost when Redis is away. */
  adjust(caller: Caller, limits: RateLimits, inputTokens: number, outputTokens: number): void;
  close(): Promise<void>;
}

const useBudget = defineScript({
  SCRIPT: budgetScript,
  NUMBER_OF_KEYS: 1,
  IS_READ_ONLY: false,
  parseCommand(parser, key: string, ...amounts: readonly string[]) {
    parser.pushKey(key);
    parser.push(...amounts);
  },
  transformReply(reply: unknown): Verdict {
    const [refusedBy = 0, waitMs = 0, requests = 0, input = 0, output = 0] = (reply as string[]).map(Number);
    return {
      refusedBy: limitNames[refusedBy - 1] ?? null,
      waitMs,
      used: { requestsPerMinute: requests, inputTokensPerMinute: input, outputTokensPerMinute: output },
    };
  },
});

export interface SharedBudgetsOptions {
  readonly url: string;
  /** An answer that takes longer does not count. */
  readonly answerWithinMs: number;
  readonly logger: Logger;
}

/** Connects; resolves when it is connected, or after a bound: then it goes on trying. Never rejects. */
export async function connectSharedBudgets(options: SharedBudgetsOptions): Promise<SharedBudgets> {
  const budgets = new RedisBudgets(options);
  await budgets.connect();
  return budgets;
}

function makeClient(url: string) {
  return createClient({
    url,
    scripts: { useBudget },
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxWaiting,
    pingInterval: pingEveryMs,
    socket: {
      connectTimeout: firstConnectionWithinMs,
      socketTimeout: silentAfterMs,
      reconnectStrategy: () => retryEveryMs,
    },
  });
}

class RedisBudgets implements SharedBudgets {
  readonly address: string;
  readonly #answerWithinMs: number;
  readonly #logger: Logger;
  readonly #client: ReturnType<typeof makeClient>;
  readonly #retry: NodeJS.Timeout;
  #up = false;
  #warned = false;
  #ping: Promise<void> | null = null;
  #closed = false;

  constructor({ url, answerWithinMs, logger }: SharedBudgetsOptions) {
    this.address = new URL(url).host;
    this.#answerWithinMs = answerWithinMs;
    this.#logger = logger;
    this.#client = makeClient(url);
    this.#client.on('error', (error: Error) => this.#lost(error.message));
    this.#client.on('ready', () => void this.#tryAgain());
    this.#retry = setInterval(() => void this.#tryAgain(), retryEveryMs);
  }

  get up(): boolean {
    return this.#up;
  }

  async connect(): Promise<void> {
    const connected = this.#client.connect().then(
      async () => await this.#tryAgain(),
      () => {},
    );
    await within(connected, firstConnectionWithinMs);
    if (!this.#up) this.#lost('it could not be reached');
  }

  async take(caller: Caller, limits: RateLimits, request: Request): Promise<Verdict | null> {
    if (!this.#up) return null;
    const { promptTokens } = request;
    return await this.#ask(caller, limits, [1, promptTokens, 1], [1, promptTokens, 0], true);
  }

  adjust(caller: Caller, limits: RateLimits, inputTokens: number, outputTokens: number): void {
    if (this.#up) void this.#ask(caller, limits, [0, 0, 0], [0, inputTokens, outputTokens], false);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#up = false;
    clearInterval(this.#retry);
    if (this.#client.isReady)
      await within(
        this.#client.close().catch(() => {}),
        lastAnswersWithinMs,
      );
    this.#client.destroy();
  }

  async #ask(
    caller: Caller,
    limits: RateLimits,
    needed: readonly number[],
    added: readonly number[],
    mayRefuse: boolean,
  ): Promise<Verdict | null> {
    const amounts = [...limitNames.map((name) => limits[name] ?? 0), ...needed, ...added, mayRefuse ? 1 : 0];
    try {
      const answer = this.#client.useBudget(`fermata:budget:${caller}`, ...amounts.map(String));
      const verdict = await within(answer, this.#answerWithinMs);
      if (verdict === null) this.#lost(`it did not answer within ${this.#answerWithinMs} ms`);
      return verdict;
    } catch (error) {
      this.#lost((error as Error).message);
      return null;
    }
  }

  #lost(reason: string): void {
    this.#up = false;
    if (this.#warned || this.#closed) return;
    this.#warned = true;
    this.#logger.warn(
      { redis: this.address, reason },
      'Redis is away; each proxy counts rate limits by itself until it is back',
    );
  }

  /** One ping at a time: those that are not answered must not pile up. */
  async #tryAgain(): Promise<void> {
    if (this.#up || this.#closed || !this.#client.isReady) return;
    this.#ping ??= this.#answers().finally(() => {
      this.#ping = null;
    });
    await this.#ping;
  }

  async #answers(): Promise<void> {
    try {
      const ping = this.#client.ping();
      const answer = await within(ping, this.#answerWithinMs);
      await ping;
      if (answer === null || this.#closed) return;
    } catch {
      return;
    }
    this.#up = true;
    if (!this.#warned) return;
    this.#warned = false;
    this.#logger.info({ redis: this.address }, 'Redis counts rate limits again');
  }
}

/**
 * The value, or null when it does not come in time. What has come while this process was busy counts: it is
 * looked for once more after the time is up.
 */
async function within<Value>(value: Promise<Value>, timeoutMs: number): Promise<Value | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => setImmediate(() => resolve(null)), timeoutMs);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
