/** A connection to Temporal for one command, and its failures in one line that says what to do. */
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { explainConnection } from '../../temporal/explain-connection.ts';
import { isMissingNamespace, missingNamespaceWords, refusalWords } from '../../temporal/refusal-words.ts';
import { connectionOptionsOf, type TemporalSettings } from '../../temporal/temporal-settings.ts';
import { CommandFault, exitCodes } from '../exit-codes.ts';

const connectLimitMs = 5_000;

/** @throws CommandFault when it cannot be had. */
export async function openConnection(settings: TemporalSettings): Promise<Connection> {
  // Asked first: a client of Temporal tries for its whole time where nobody listens.
  const trouble = await explainConnection(settings, connectLimitMs);
  if (trouble !== null) throw new CommandFault(trouble.words);
  try {
    return await Connection.connect({ ...connectionOptionsOf(settings), connectTimeout: connectLimitMs });
  } catch (error) {
    // It may have gone meanwhile.
    const since = await explainConnection(settings, connectLimitMs);
    if (since !== null) throw new CommandFault(since.words, exitCodes.failed, { cause: error });
    throw asCommandFault(error, settings, 'connect');
  }
}

/** @param doing what was being done, for words that Temporal alone has. */
export function asCommandFault(error: unknown, settings: TemporalSettings, doing: string): CommandFault {
  if (error instanceof CommandFault) return error;
  const status = statusOf(error);
  const words =
    status === null
      ? null
      : isMissingNamespace(status)
        ? missingNamespaceWords(settings)
        : refusalWords(status, settings);
  const said = status?.details ?? (error instanceof Error ? error.message : String(error));
  return new CommandFault(
    words ?? `Temporal at ${settings.address} failed to ${doing}: ${said}`,
    exitCodes.failed,
    { cause: error },
  );
}

/** The gRPC status of an error, or of what caused it. */
export function statusOf(error: unknown): { readonly code: number; readonly details: string } | null {
  if (isGrpcServiceError(error)) return error;
  return error instanceof Error && error.cause !== undefined ? statusOf(error.cause) : null;
}
