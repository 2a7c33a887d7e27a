/**
 * The HTTP client side towards the replicas: kept-alive connections without a limit on their number
 * (admission is the scheduler's; a queue here would be a second one), no delay on small writes, a connect
 * timeout, and no total timeout.
 */
import { Agent } from 'undici';

/** Below the 5 s after which common engine servers close idle connections themselves. */
const idleConnectionMs = 4_000;

export function createEngineAgent(connectTimeoutMs: number): Agent {
  return new Agent({
    connections: null,
    pipelining: 1,
    keepAliveTimeout: idleConnectionMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs, noDelay: true },
  });
}

/** Words for an error of a connection: the system's code when there is one. */
export function describeConnectionError(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  if (error.message === '') return code ?? error.name;
  return `${error.message}${cause}`;
}
