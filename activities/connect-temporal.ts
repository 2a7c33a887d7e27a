/** The worker's connection to Temporal, waited for at start-up up to a bound. */
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { explainConnection } from '../temporal/explain-connection.ts';
import { isMissingNamespace, missingNamespaceWords, refusalWords } from '../temporal/refusal-words.ts';
import { connectionOptionsOf, type TemporalSettings } from '../temporal/temporal-settings.ts';

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
const namespaceLimitMs = 10_000;

/** Which of a failure is no matter of time: the key, a certificate, the namespace. */
class FinalFault extends Error {}

/**
 * @throws Error with one readable line: at once when a setting has to be mended, else when Temporal does not answer
 * for a minute.
 */
export async function connectTemporal(
  target: TemporalSettings,
  deps: { readonly logger: Logger; readonly timeoutMs?: number },
): Promise<NativeConnection> {
  const timeoutMs = deps.timeoutMs ?? startTimeoutMs;
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await tryToConnect(target);
    } catch (error) {
      if (error instanceof FinalFault) throw error;
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

/** @throws FinalFault, or Error for what may pass. */
async function tryToConnect(target: TemporalSettings): Promise<NativeConnection> {
  let connection: NativeConnection;
  try {
    connection = await NativeConnection.connect({
      ...connectionOptionsOf(target),
      ...(isOnThisMachine(target.address) ? { grpcCompression: { codec: 'none' } } : {}),
    });
  } catch (error) {
    const refused = refusalWords(statusIn(error), target);
    if (refused !== null) throw new FinalFault(refused, { cause: error });
    const trouble = await explainConnection(target);
    if (trouble === null) throw error;
    throw trouble.isFinal
      ? new FinalFault(trouble.words, { cause: error })
      : new Error(trouble.words, { cause: error });
  }
  try {
    const { namespace } = target;
    await connection.withDeadline(
      Date.now() + namespaceLimitMs,
      async () => await connection.workflowService.describeNamespace({ namespace }),
    );
    return connection;
  } catch (error) {
    await connection.close();
    const status = statusIn(error);
    const words = isMissingNamespace(status) ? missingNamespaceWords(target) : refusalWords(status, target);
    throw words === null ? error : new FinalFault(words, { cause: error });
  }
}

/** The native client tells its status as a number when a call fails, and in words alone when connecting does. */
function statusIn(error: unknown): { readonly code: number; readonly details: string } {
  const text = error instanceof Error ? error.message : String(error);
  const told = (error as { code?: unknown } | null)?.code;
  if (typeof told === 'number') return { code: told, details: text };
  const code = /valid authentication credentials/.test(text)
    ? 16
    : /does not have permission/.test(text)
      ? 7
      : 2;
  return { code, details: /message: "([^"]*)"/.exec(text)?.[1] ?? text };
}
