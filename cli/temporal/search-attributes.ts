/**
 * fermata's search attributes on a Temporal cluster: which are missing, adding them, and whether they can be
 * used yet. Where the operator's part of the API is closed, as on Temporal Cloud, queries tell what is there.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { searchAttributes } from '../../contracts/run.ts';
import { CommandFault } from '../exit-codes.ts';
import { statusOf } from './open-connection.ts';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword: number = 2;
const grpc = { invalidArgument: 3, notFound: 5, permissionDenied: 7, unimplemented: 12 } as const;

export const attributeNames: readonly string[] = Object.values(searchAttributes);

/** @throws CommandFault when one is there with another type. */
export async function missingAttributes(
  connection: Connection,
  namespace: string,
): Promise<readonly string[]> {
  let present: Readonly<Record<string, unknown>>;
  try {
    const listed = await connection.operatorService.listSearchAttributes({ namespace });
    present = listed.customAttributes;
  } catch (error) {
    if (!isClosed(error)) throw error;
    return await withoutAnswer(connection, namespace);
  }
  const wrong = attributeNames.filter((name) => name in present && Number(present[name]) !== keyword);
  if (wrong.length > 0) {
    throw new CommandFault(
      `the search attribute ${wrong.join(', ')} is there with another type than Keyword; remove it or use another namespace`,
    );
  }
  return attributeNames.filter((name) => !(name in present));
}

export async function addAttributes(
  connection: Connection,
  namespace: string,
  names: readonly string[],
): Promise<void> {
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(names.map((name) => [name, keyword])),
  });
}

/** Whether whoever asks may not use this part of the API, or the server does not have it. */
export function isClosed(error: unknown): boolean {
  const code = statusOf(error)?.code;
  return code === grpc.permissionDenied || code === grpc.unimplemented;
}

/**
 * Waits until a query may name them: what is new reaches each part of a cluster in its own time.
 * @returns whether it came to that within `limitMs`.
 */
export async function waitUntilUsable(
  connection: Connection,
  namespace: string,
  limitMs: number,
): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  const query = attributeNames.map((name) => `${name} = 'x'`).join(' AND ');
  for (;;) {
    try {
      await connection.workflowService.countWorkflowExecutions({ namespace, query });
      return true;
    } catch (error) {
      const code = statusOf(error)?.code;
      if (code !== grpc.invalidArgument && code !== grpc.notFound) throw error;
    }
    if (Date.now() > deadline) return false;
    await delay(250);
  }
}

async function withoutAnswer(connection: Connection, namespace: string): Promise<readonly string[]> {
  const known = await Promise.all(
    attributeNames.map(async (name) => {
      try {
        await connection.workflowService.countWorkflowExecutions({ namespace, query: `${name} = 'x'` });
        return true;
      } catch (error) {
        if (statusOf(error)?.code === grpc.invalidArgument) return false;
        throw error;
      }
    }),
  );
  return attributeNames.filter((_, index) => known[index] === false);
}
