/**
 * Which Temporal to use and how to get in, as Temporal's own environment variables say (`TEMPORAL_ADDRESS` and
 * its kin) and read with Temporal's own package. Every process that talks to Temporal reads them here. Opens
 * no connection.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { SettingsFault } from '../contracts/settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface TemporalTls {
  /** Name that the server's certificate must have; absent: the host of the address. */
  readonly serverNameOverride?: string;
  /** PEM of the authority that has signed the server's certificate; absent: those that the system trusts. */
  readonly serverRootCACertificate?: Uint8Array;
  /** PEM of what this side shows. */
  readonly clientCertPair?: { readonly crt: Uint8Array; readonly key: Uint8Array };
}

export interface TemporalSettings {
  /** host:port of the frontend. */
  readonly address: string;
  readonly namespace: string;
  /** Sent as a bearer token with every call. */
  readonly apiKey?: string | undefined;
  /** Absent or false: plain. */
  readonly tls?: TemporalTls | boolean | undefined;
  /** Further headers of every call (`TEMPORAL_GRPC_META_*`). */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** What a file or a variable of these says of a cluster; with none of them the local server is meant. */
const places = ['TEMPORAL_ADDRESS', 'TEMPORAL_CONFIG_FILE', 'TEMPORAL_PROFILE'];
/** What makes no sense for the local server, which speaks plain and asks nobody who he is. */
const clusterOnly = /^TEMPORAL_(API_KEY|TLS(_\w+)?)$/;
const addressPattern = /^(?!\w+:\/\/)\S+:\d{1,5}$/;

/**
 * @returns null when no cluster is named: then the local server is meant.
 * @throws SettingsFault with one line that names the setting and says what to do.
 */
export function readTemporalCluster(environment: Environment): TemporalSettings | null {
  const given = definedOf(environment);
  if (!places.some((name) => name in given)) {
    const stray = Object.keys(given).find((name) => clusterOnly.test(name));
    if (stray === undefined || /^(false|0)$/i.test(given[stray] ?? '')) return null;
    throw new SettingsFault(
      `${stray} is set, but no cluster is named: set TEMPORAL_ADDRESS (host:port), or unset ${stray} for a local server without it`,
    );
  }
  const { connectionOptions, namespace } = load(given);
  const { address, apiKey, tls, metadata } = connectionOptions;
  if (address === undefined || !addressPattern.test(address)) {
    const got = address === undefined ? 'the profile names none' : `got '${address.slice(0, 200)}'`;
    throw new SettingsFault(
      `TEMPORAL_ADDRESS: ${got}, expected host:port, such as temporal.example:7233, without a scheme`,
    );
  }
  return {
    address,
    namespace: namespace ?? 'default',
    ...(typeof apiKey === 'string' ? { apiKey } : {}),
    ...(tls === undefined || tls === null ? {} : { tls: typeof tls === 'boolean' ? tls : readable(tls) }),
    ...(metadata === undefined || Object.keys(metadata).length === 0
      ? {}
      : { metadata: stringsOf(metadata) }),
  };
}

/** The same for a service of its own, which falls back to a local server at `localAddress`. */
export function readTemporalSettings(environment: Environment, localAddress: string): TemporalSettings {
  const cluster = readTemporalCluster(environment);
  if (cluster !== null) return cluster;
  return { address: localAddress, namespace: definedOf(environment)['TEMPORAL_NAMESPACE'] ?? 'default' };
}

/** As both of Temporal's clients, the worker's and the other one, take it. */
export function connectionOptionsOf({ address, apiKey, tls, metadata }: TemporalSettings): {
  address: string;
  apiKey?: string;
  tls?: TemporalTls | boolean;
  metadata?: Record<string, string>;
} {
  return {
    address,
    ...(apiKey === undefined ? {} : { apiKey }),
    // Said in any case: an API key without it would turn TLS on.
    tls: tls ?? false,
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  };
}

type Loaded = ReturnType<typeof loadClientConnectConfig>;

function load(given: Readonly<Record<string, string>>): Loaded {
  if (isOn(given['TEMPORAL_TLS_DISABLE_HOST_VERIFICATION'])) {
    throw new SettingsFault(
      "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: Temporal's client for Node.js cannot do that; name the server's authority with TEMPORAL_TLS_SERVER_CA_CERT_PATH, and its name with TEMPORAL_TLS_SERVER_NAME",
    );
  }
  // Temporal's own command line may have a file in the home folder: it counts only when it is asked for.
  const withFile = 'TEMPORAL_CONFIG_FILE' in given || 'TEMPORAL_PROFILE' in given;
  const path = given['TEMPORAL_CONFIG_FILE'];
  if (path !== undefined && !existsSync(path)) {
    throw new SettingsFault(`TEMPORAL_CONFIG_FILE: there is no file ${path}`);
  }
  let loaded: Loaded;
  try {
    loaded = loadClientConnectConfig({ overrideEnvVars: { ...given }, disableFile: !withFile });
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new SettingsFault(`TEMPORAL_*: ${words.replaceAll(/\s+/g, ' ')}`, { cause: error });
  }
  requireWholePair(given, loaded);
  return loaded;
}

/** Half of a pair would be left out without a word. */
function requireWholePair(given: Readonly<Record<string, string>>, { connectionOptions }: Loaded): void {
  const has = (part: string): boolean =>
    ['PATH', 'DATA'].some((kind) => `TEMPORAL_TLS_CLIENT_${part}_${kind}` in given);
  const { tls } = connectionOptions;
  if (typeof tls !== 'object' || tls === null || (tls.clientCertPair ?? undefined) !== undefined) return;
  for (const [one, other] of [
    ['CERT', 'KEY'],
    ['KEY', 'CERT'],
  ] as const) {
    if (!has(one)) continue;
    throw new SettingsFault(
      `TEMPORAL_TLS_CLIENT_${one}_PATH needs TEMPORAL_TLS_CLIENT_${other}_PATH beside it: a certificate and its key go together`,
    );
  }
}

function isOn(value: string | undefined): boolean {
  return /^(true|1)$/i.test(value ?? '');
}

/** Set to nothing counts as not set, as everywhere in fermata. */
function definedOf(environment: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => {
      if (value === undefined || !(name.startsWith('TEMPORAL_') || homeFolders.includes(name))) return [];
      // Text of a certificate stays as it is; an empty header takes one of the file away.
      const text = name.endsWith('_DATA') ? value : value.trim();
      return text.trim() !== '' || name.startsWith('TEMPORAL_GRPC_META_') ? [[name, text]] : [];
    }),
  );
}

/** Where Temporal's package looks for the file of a profile. */
const homeFolders = ['HOME', 'XDG_CONFIG_HOME', 'APPDATA', 'USERPROFILE'];

/** Certificates and keys as they are used, so that a broken one is told of before anything is started. */
function readable(tls: Exclude<Loaded['connectionOptions']['tls'], boolean | null | undefined>): TemporalTls {
  const { serverNameOverride, serverRootCACertificate: ca, clientCertPair } = tls;
  const check = (names: string, read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      throw new SettingsFault(`${names}: cannot be read as PEM (${words})`, { cause: error });
    }
  };
  if (ca !== undefined) check('TEMPORAL_TLS_SERVER_CA_CERT_PATH', () => new X509Certificate(ca));
  if (clientCertPair !== undefined) {
    const [cert, key] = [Buffer.from(clientCertPair.crt), Buffer.from(clientCertPair.key)];
    check('TEMPORAL_TLS_CLIENT_CERT_PATH', () => new X509Certificate(cert));
    check('TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH', () =>
      createSecureContext({ cert, key }),
    );
  }
  return {
    ...(serverNameOverride === undefined ? {} : { serverNameOverride }),
    ...(ca === undefined ? {} : { serverRootCACertificate: ca }),
    ...(clientCertPair === undefined ? {} : { clientCertPair }),
  };
}

function stringsOf(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, String(value)]));
}
