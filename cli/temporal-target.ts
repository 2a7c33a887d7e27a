/** Which Temporal to use, as Temporal's own environment variables say. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { SetupFault } from './setup/setup-fault.ts';

export interface TemporalTarget {
  /** host:port of the frontend. */
  readonly address: string;
  readonly namespace: string;
  readonly apiKey?: string;
  readonly tls?: true;
}

/**
 * Temporal's own settings, read with its own package.
 * @returns null without `TEMPORAL_ADDRESS`: then the local server is meant.
 * @throws SetupFault for client certificates, which only the separate services can take.
 */
export function readTemporalTarget(
  environment: Readonly<Record<string, string | undefined>>,
): TemporalTarget | null {
  if ((environment['TEMPORAL_ADDRESS'] ?? '') === '') return null;
  const defined = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const { connectionOptions, namespace } = loadClientConnectConfig({
    overrideEnvVars: Object.fromEntries(defined),
  });
  if (typeof connectionOptions.tls === 'object') {
    throw new SetupFault(
      'TEMPORAL_TLS_*: the embedded stack takes TEMPORAL_TLS=true only; start the services one by one to use certificates of your own',
    );
  }
  const apiKey = typeof connectionOptions.apiKey === 'string' ? connectionOptions.apiKey : undefined;
  return {
    address: connectionOptions.address ?? 'localhost:7233',
    namespace: namespace ?? 'default',
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(connectionOptions.tls === true ? { tls: true as const } : {}),
  };
}
