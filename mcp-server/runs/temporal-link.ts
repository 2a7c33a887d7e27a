/**
 * The connection to Temporal: lazy, so that this service starts without Temporal; reconnecting by
 * itself; every call bounded. What Temporal refuses or fails to answer becomes a {@link UserFault} in
 * words; "not found" and "already started" are left to the caller, who knows what they mean.
 */
import {
  Client,
  Connection,
  isGrpcServiceError,
  isRetryableError,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
} from '@temporalio/client';
import {
  NamespaceNotFoundError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/common';
import { explainConnection } from '../../temporal/explain-connection.ts';
import { isMissingNamespace, missingNamespaceWords, refusalWords } from '../../temporal/refusal-words.ts';
import { connectionOptionsOf, type TemporalSettings } from '../../temporal/temporal-settings.ts';
import { UserFault } from './user-fault.ts';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
/** gRPC takes any call from an interceptor; its types ask for its own class. */
type Passed = ReturnType<Interceptor>;

/** Milliseconds a call may take, all its retries together: a restart of Temporal fits in. */
const defaultCallMs = 15_000;

const grpc = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unavailable: 14,
} as const;

/** The gRPC status and words of an error from the client, or of its cause; null when it has none. */
export function grpcStatusOf(error: unknown): { readonly code: number; readonly details: string } | null {
  if (isGrpcServiceError(error)) return { code: error.code, details: error.details };
  return error instanceof Error && error.cause !== undefined ? grpcStatusOf(error.cause) : null;
}

/** Whether the time of the call was over: by our clock, or by Temporal's, which calls it cancelled now and then. */
export function isOutOfTime(error: unknown): boolean {
  const code = grpcStatusOf(error)?.code;
  return code === grpc.deadlineExceeded || code === grpc.cancelled;
}

/** Whether the same call may work once Temporal is back. */
export function isTemporaryFault(error: unknown): boolean {
  const code = grpcStatusOf(error)?.code;
  return code === grpc.unavailable || code === grpc.deadlineExceeded || code === grpc.resourceExhausted;
}

/** Turns what the client threw into words for the user; what the caller must tell apart stays as it is. */
export function describeTemporalFault(error: unknown, settings: TemporalSettings): unknown {
  if (error instanceof UserFault || error instanceof WorkflowNotFoundError) return error;
  if (error instanceof WorkflowExecutionAlreadyStartedError) return error;
  const status = grpcStatusOf(error);
  const cause = { cause: error };
  // The raw service tells of a missing namespace in a status, the client in an error class.
  if ((status !== null && isMissingNamespace(status)) || error instanceof NamespaceNotFoundError) {
    return new UserFault('busy', missingNamespaceWords(settings), cause);
  }
  if (status === null) return error;
  if (status.code === grpc.unavailable || status.code === grpc.deadlineExceeded) {
    const text = `Temporal at ${settings.address} does not answer; runs are kept there, so try again in a moment`;
    return new UserFault('busy', text, cause);
  }
  if (status.code === grpc.resourceExhausted) {
    return new UserFault('busy', `Temporal is overloaded; try again in a moment (${status.details})`, cause);
  }
  const refused = refusalWords(status, settings);
  if (refused !== null) return new UserFault('busy', refused, cause);
  const kind = status.code === grpc.invalidArgument ? 'invalid' : 'busy';
  return new UserFault(kind, `Temporal refused the call: ${status.details}`, cause);
}

/**
 * The client's own retry waits up to 5 s between tries, also past a call's deadline. Thirty tries last
 * longer than any call; a long poll, which has no deadline, is taken up again by whoever made it.
 */
class Retries {
  /** Tries that wait for their time; one that starts on a closed channel throws where nobody can catch it. */
  #waiting = 0;
  #begun = 0;
  #stopped = false;
  #noneWaits: (() => void) | null = null;

  /** In this order: a call passes the first and the last once for each time it is made, or tried again. */
  readonly interceptors: readonly Interceptor[] = [
    (options, nextCall) => {
      this.#begun += 1;
      return nextCall(options) as Passed;
    },
    makeGrpcRetryInterceptor({
      delayFunction: (attempt) => {
        this.#waiting += 1;
        return Math.min(100 * 1.5 ** attempt, 1_000) * (0.8 + Math.random() * 0.4);
      },
      retryableDecider: (attempt, status) => !this.#stopped && attempt < 30 && isRetryableError(status),
    }),
    (options, nextCall) => {
      if (this.#begun > 0) this.#begun -= 1;
      else this.#triedAgain();
      return nextCall(options) as Passed;
    },
  ];

  /** Resolves when no try waits any more, in less than two seconds; none is made after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#waiting === 0) return;
    await new Promise<void>((resolve) => {
      this.#noneWaits = resolve;
    });
  }

  #triedAgain(): void {
    this.#waiting -= 1;
    // The try must be on its way before the channel is closed under it.
    if (this.#waiting === 0 && this.#noneWaits !== null) setImmediate(this.#noneWaits);
  }
}

/** Milliseconds that an answer of {@link TemporalLink.keptHours} holds, and may take. */
const keptForMs = 300_000;
const keptLimitMs = 2_000;

export class TemporalLink {
  readonly settings: TemporalSettings;
  readonly client: Client;
  readonly #connection: Connection;
  readonly #callMs: number;
  readonly #retries = new Retries();
  #kept: { readonly hours: number | null; readonly untilMs: number } | null = null;

  /** @param callMs milliseconds a call may take, all its retries together. */
  constructor(settings: TemporalSettings, callMs: number = defaultCallMs) {
    this.settings = settings;
    this.#callMs = callMs;
    this.#connection = Connection.lazy({
      ...connectionOptionsOf(settings),
      interceptors: [...this.#retries.interceptors],
      // gRPC's own backoff grows to two minutes, long after Temporal is back.
      channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 },
    });
    this.client = new Client({ connection: this.#connection, namespace: settings.namespace });
  }

  /**
   * Makes a call within `limitMs`, retried while Temporal is away.
   * @throws UserFault in words; WorkflowNotFoundError and WorkflowExecutionAlreadyStartedError as they are.
   */
  async call<T>(make: (client: Client) => Promise<T>, limitMs: number = this.#callMs): Promise<T> {
    try {
      return await this.client.withDeadline(Date.now() + limitMs, async () => await make(this.client));
    } catch (error) {
      throw (await this.#settingsFault(error)) ?? describeTemporalFault(error, this.settings);
    }
  }

  /** Where nobody answers for a reason that a setting can mend, waiting is no advice. */
  async #settingsFault(error: unknown): Promise<UserFault | null> {
    const code = grpcStatusOf(error)?.code;
    if (code !== grpc.unavailable && code !== grpc.deadlineExceeded) return null;
    const trouble = await explainConnection(this.settings, 1_000);
    return trouble?.isReached === true ? new UserFault('busy', trouble.words, { cause: error }) : null;
  }

  /**
   * Hours that Temporal keeps ended runs; null when it does not say, or whoever asks may not know. Asked again
   * after five minutes.
   */
  async keptHours(): Promise<number | null> {
    const nowMs = performance.now();
    if (this.#kept !== null && nowMs < this.#kept.untilMs) return this.#kept.hours;
    const { namespace } = this.settings;
    const hours = await this.call(
      (client) => client.workflowService.describeNamespace({ namespace }),
      keptLimitMs,
    ).then(
      ({ config }) => Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 3_600 || null,
      () => null,
    );
    this.#kept = { hours, untilMs: nowMs + keptForMs };
    return hours;
  }

  /** null when Temporal and the namespace answer within two seconds, else what is wrong. */
  async fault(): Promise<string | null> {
    try {
      const { namespace } = this.settings;
      await this.call((client) => client.workflowService.describeNamespace({ namespace }), 2_000);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async close(): Promise<void> {
    await this.#retries.stop();
    await this.#connection.close();
  }
}
