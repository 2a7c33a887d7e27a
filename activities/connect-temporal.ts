/** The worker's connection to Temporal, waited for at start-up up to a bound. */
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import type { Logger } from 'pino';

export interface TemporalTarget {
  /** host:port of the frontend. */
  readonly address: string;
  readonly namespace: string;
  readonly apiKey?: string | undefined;
  readonly tls?: NativeConnectionOptions['tls'];
}

/** @returns null when Temporal answers within a second; else why it counts as lost. */
export async function temporalTrouble(connection: NativeConnection): Promise<string | null> {
  try {
    await connection.withDeadline(
      Date.now() + 1_000,
      async () => await connection.workflowService.getSystemInfo({}),
    );
    return null;
  } catch (error) {
    return `Temporal does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Bytes that never leave the machine cost less than making them fewer. */
function isOnThisMachine(address: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/.test(address);
}

const startTimeoutMs = 60_000;
const retryEveryMs = 1_000;

/** @throws Error with one readable line when Temporal does not answer for a minute. */
export async function connectTemporal(
  target: TemporalTarget,
  deps: { readonly logger: Logger; readonly timeoutMs?: number },
): Promise<NativeConnection> {
  const timeoutMs = deps.timeoutMs ?? startTimeoutMs;
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await NativeConnection.connect({
        address: target.address,
        ...(isOnThisMachine(target.address) ? { grpcCompression: { codec: 'none' } } : {}),
        ...(target.apiKey === undefined ? {} : { apiKey: target.apiKey }),
        ...(target.tls === undefined ? {} : { tls: target.tls }),
      });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (performance.now() + retryEveryMs > deadlineMs) {
        throw new Error(
          `Temporal at ${target.address} did not answer within ${timeoutMs / 1_000} s: ${message.split('\n')[0] ?? ''}`,
          { cause: error },
        );
      }
      deps.logger.warn({ address: target.address, error: message }, 'Temporal does not answer yet');
      await delay(retryEveryMs);
    }
  }
}
