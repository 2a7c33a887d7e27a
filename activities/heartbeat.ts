/**
 * Keeps an activity's heartbeat going and tells why it has to stop. A user's cancel, and an attempt that
 * the server has given up, abort the work. A worker that stops does not end a run: work that may be
 * repeated goes to another worker at once, work that may not be repeated gets time to finish.
 */
import { ApplicationFailureCategory } from '@temporalio/common';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';

const heartbeatEveryMs = 3_000;

export interface HeartbeatOptions {
  /** Milliseconds the work goes on after its worker was asked to stop; 0: it is handed on at once. */
  readonly finishWithinMs: number;
  /** Kept by the server for the next attempt; asked for at each heartbeat. */
  readonly details?: () => unknown;
}

/**
 * Runs `work` with a signal that aborts it when it has to stop.
 * @throws CancelledFailure after a cancel; a retryable `WorkerStopping` when the worker stops.
 */
export async function withHeartbeat<T>(
  options: HeartbeatOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const abort = new AbortController();
  let finishTimer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    if (!isWorkerStopping(context) || options.finishWithinMs === 0) abort.abort();
    else finishTimer ??= setTimeout(() => abort.abort(), options.finishWithinMs);
  };
  const timer = setInterval(() => context.heartbeat(options.details?.()), heartbeatEveryMs);
  context.cancellationSignal.addEventListener('abort', onStop, { once: true });
  if (context.cancellationSignal.aborted) onStop();
  try {
    return await work(abort.signal);
  } catch (error) {
    throw abort.signal.aborted ? stopFailure(context) : error;
  } finally {
    clearInterval(timer);
    clearTimeout(finishTimer);
    context.cancellationSignal.removeEventListener('abort', onStop);
  }
}

/** Whether this attempt's failure is that its worker stopped. */
export function isWorkerStoppingFailure(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === 'WorkerStopping';
}

function isWorkerStopping(context: Context): boolean {
  const details = context.cancellationDetails;
  return details?.workerShutdown === true && !details.cancelRequested;
}

function stopFailure(context: Context): Error {
  if (!isWorkerStopping(context)) return new CancelledFailure('the run was cancelled');
  return ApplicationFailure.create({
    message: 'the worker is stopping; another one goes on',
    type: 'WorkerStopping',
    nextRetryDelay: '100 milliseconds',
    category: ApplicationFailureCategory.BENIGN,
  });
}
