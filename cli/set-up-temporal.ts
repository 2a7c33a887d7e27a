/** Registers fermata's search attributes on a Temporal cluster; what is there already stays. */
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { searchAttributes } from '../contracts/run.ts';
import { CommandFault, exitCodes } from './exit-codes.ts';
import type { TemporalTarget } from './temporal-target.ts';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword: number = 2;
const callLimitMs = 20_000;

export interface SearchAttributeReport {
  readonly address: string;
  readonly namespace: string;
  readonly added: readonly string[];
  readonly present: readonly string[];
}

/** @throws CommandFault when the server does not answer or refuses, or an attribute has another type. */
export async function setUpTemporal(target: TemporalTarget): Promise<SearchAttributeReport> {
  const { address, namespace } = target;
  const connection = await connectTo(target);
  try {
    return await connection.withDeadline(Date.now() + callLimitMs, async () => {
      const names = Object.values(searchAttributes);
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      const wrong = names.filter(
        (name) => name in customAttributes && Number(customAttributes[name]) !== keyword,
      );
      if (wrong.length > 0) {
        throw new CommandFault(
          `${address}: the search attribute ${wrong.join(', ')} is there with another type than Keyword; remove it or use another namespace`,
        );
      }
      const added = names.filter((name) => !(name in customAttributes));
      if (added.length > 0) {
        await connection.operatorService.addSearchAttributes({
          namespace,
          searchAttributes: Object.fromEntries(added.map((name) => [name, keyword])),
        });
      }
      return { address, namespace, added, present: names.filter((name) => !added.includes(name)) };
    });
  } catch (error) {
    throw error instanceof CommandFault ? error : refusal(address, namespace, error);
  } finally {
    await connection.close();
  }
}

async function connectTo({ address, apiKey, tls }: TemporalTarget): Promise<Connection> {
  try {
    return await Connection.connect({
      address,
      connectTimeout: '5 seconds',
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(tls === undefined ? {} : { tls }),
    });
  } catch (error) {
    throw new CommandFault(
      `Temporal does not answer at ${address}; start it, or set TEMPORAL_ADDRESS (host:port)`,
      exitCodes.failed,
      { cause: error },
    );
  }
}

function refusal(address: string, namespace: string, error: unknown): CommandFault {
  const words = isGrpcServiceError(error) ? error.details : (error as Error).message;
  return new CommandFault(
    `Temporal at ${address} refused to set up search attributes in namespace '${namespace}': ${words}. On Temporal Cloud add them on its page or with tcld: ${Object.values(searchAttributes).join(', ')}, each of type Keyword`,
    exitCodes.failed,
    { cause: error },
  );
}
