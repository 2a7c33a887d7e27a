/** Where Temporal is, as Temporal's own environment variables say (`TEMPORAL_ADDRESS` and its kin). */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { SettingsFault } from '../contracts/settings.ts';
import type { TemporalSettings } from './runs/temporal-link.ts';

/**
 * @param localPort port of a local server, for when no address is set.
 * @throws SettingsFault when a variable cannot be used.
 */
export function readTemporalSettings(
  environment: Readonly<Record<string, string | undefined>>,
  localPort: number,
): TemporalSettings {
  const defined = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({
      overrideEnvVars: Object.fromEntries(defined),
    });
    const { address, apiKey, tls } = connectionOptions;
    return {
      address: address ?? `127.0.0.1:${localPort}`,
      namespace: namespace ?? 'default',
      ...(typeof apiKey === 'string' ? { apiKey } : {}),
      ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
    };
  } catch (error) {
    throw new SettingsFault(`TEMPORAL_*: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type LoadedTls = ReturnType<typeof loadClientConnectConfig>['connectionOptions']['tls'];

/** The worker's and the client's TLS options are two types of one shape, buffers aside. */
function tlsOf(tls: LoadedTls): TemporalSettings['tls'] {
  if (typeof tls !== 'object' || tls === null) return tls;
  const { serverNameOverride, serverRootCACertificate, clientCertPair } = tls;
  return {
    ...(serverNameOverride === undefined ? {} : { serverNameOverride }),
    ...(serverRootCACertificate === undefined ? {} : { serverRootCACertificate }),
    ...(clientCertPair === undefined ? {} : { clientCertPair }),
  };
}
