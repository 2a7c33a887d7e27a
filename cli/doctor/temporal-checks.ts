/** Whether Temporal answers, has the namespace, and knows fermata's search attributes. Changes nothing. */
import { connect } from 'node:net';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { searchAttributes } from '../../contracts/run.ts';
import type { TemporalTarget } from '../temporal-target.ts';
import { fault, note, ok, warning, type Finding } from './finding.ts';

const limitMs = 5_000;

/** @param expected whether it must be there: it was named, or other parts run. */
export async function checkTemporal(target: TemporalTarget, expected: boolean): Promise<Finding> {
  const { address, namespace, apiKey, tls } = target;
  const connection = !(await isListening(address))
    ? new Error('nobody listens')
    : await Connection.connect({
        address,
        connectTimeout: limitMs,
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(tls === undefined ? {} : { tls }),
      }).catch((error: unknown) => error as Error);
  if (connection instanceof Error) {
    const says = `it does not answer at ${address}`;
    return expected
      ? fault(
          'temporal',
          says,
          'start it (npm start has one built in), or set TEMPORAL_ADDRESS to where it is',
        )
      : note('temporal', `${says}; npm start starts one`);
  }
  try {
    return await connection.withDeadline(Date.now() + limitMs, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      return await checkAttributes(connection, target);
    });
  } catch (error) {
    const words = isGrpcServiceError(error) ? error.details : (error as Error).message;
    return fault(
      'temporal',
      `namespace '${namespace}' at ${address}: ${words}`,
      'create the namespace, or set TEMPORAL_NAMESPACE (and TEMPORAL_API_KEY where one is needed)',
    );
  } finally {
    await connection.close();
  }
}

/** Asked first: a client of Temporal tries for its whole time where nobody listens. */
async function isListening(address: string): Promise<boolean> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replaceAll(/[[\]]/g, '');
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(address.slice(colon + 1)), timeout: limitMs });
    const settle = (listens: boolean): void => {
      socket.destroy();
      resolve(listens);
    };
    socket
      .once('connect', () => settle(true))
      .once('error', () => settle(false))
      .once('timeout', () => settle(false));
  });
}

async function checkAttributes(
  connection: Connection,
  { address, namespace }: TemporalTarget,
): Promise<Finding> {
  const says = `${address}, namespace ${namespace}`;
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = Object.values(searchAttributes).filter((name) => !(name in customAttributes));
    return missing.length === 0
      ? ok('temporal', says)
      : fault(
          'temporal',
          `${says}: search attributes are missing: ${missing.join(', ')}`,
          'run `fermata setup temporal`',
        );
  } catch {
    // Temporal Cloud does not serve this.
    return warning(
      'temporal',
      `${says}: its search attributes cannot be read`,
      'see that they are there: docs/deploys.md',
    );
  }
}
