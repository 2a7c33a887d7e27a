/**
 * Settings from environment variables. Pure: the environment is handed in. Only `main.ts` files and
 * `cli/` read `process.env`.
 */
import { largestMaxRunning } from './config-file.ts';
import { parseLeaseSetting, type LeaseSetting } from './lease-setting.ts';
import { defaultMaxRunning } from './run-names.ts';
import { settingsTable } from './settings-table.ts';

/** One build of the workers of one deployment, as Temporal names it. */
export interface DeploymentVersion {
  readonly name: string;
  readonly buildId: string;
}

export interface Settings {
  /** Path of the configuration file; null: `fermata.yaml` if present, else the built-in simulated pool. */
  readonly configPath: string | null;
  readonly host: string;
  readonly stateDir: string;
  readonly logLevel: string;
  readonly ports: {
    readonly proxy: number;
    readonly mcp: number;
    readonly scheduler: number;
    readonly worker: number;
    readonly temporal: number;
    readonly temporalUi: number;
  };
  /** In the order in which they are asked; empty: the local port. */
  readonly schedulerUrls: readonly string[];
  readonly proxyUrls: readonly string[];
  /** Which of several schedulers is active; null: there is one, and it always is. */
  readonly schedulerLease: LeaseSetting | null;
  /** Whom the command line asks. */
  readonly mcpUrl: string | null;
  /** Root of Temporal's own web pages; null: not known. `fermata up` knows that of its own server. */
  readonly temporalUiUrl: string | null;
  readonly taskQueue: string;
  /**
   * The worker's version in Temporal (Worker Versioning); null: it is unversioned and takes any run. Only
   * a worker process of its own has one; the embedded stack refuses it (docs/deploys.md).
   */
  readonly deployment: DeploymentVersion | null;
  /** The token that opens every door and with which the services speak to each other; null: none. */
  readonly token: string | null;
  /** Path of the file of named tokens; null: none. */
  readonly tokensFile: string | null;
  /** Where rate limits are counted for several proxies; null: in each proxy's memory. */
  readonly redisUrl: string | null;
  /** Milliseconds that a stopping proxy gives turns in flight before it cuts them. */
  readonly drainMs: number;
  /** Runs that one caller may have at work at once. */
  readonly maxRunning: number;
}

/** A setting that cannot be used; its message is one readable line. */
export class SettingsFault extends Error {
  override readonly name = 'SettingsFault';
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const loopbackHosts = ['127.0.0.1', '::1', 'localhost'];

const known: ReadonlySet<string> = new Set(Object.keys(settingsTable));

/**
 * Reads every `FERMATA_*` variable of `environment` and fills in the defaults.
 * @throws SettingsFault with one line that names the setting, what was given and what is expected.
 */
export function parseSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('FERMATA_') || known.has(name)) continue;
    throw new SettingsFault(`${name}: unknown setting; known are ${[...known].toSorted().join(', ')}`);
  }
  const text = (name: string): string | null => {
    const value = environment[name]?.trim();
    return value === undefined || value === '' ? null : value;
  };
  const port = (name: string, fallback: number): number => {
    const value = text(name);
    if (value === null) return fallback;
    const number = Number(value);
    if (/^\d{1,5}$/.test(value) && number <= 65_535) return number;
    throw new SettingsFault(`${name}: got '${value}', expected a port from 0 (any free one) to 65535`);
  };
  const address = (name: string): string | null => {
    const value = text(name);
    if (value === null || /^https?:\/\/[^/]+/.test(value)) return value?.replace(/\/+$/, '') ?? null;
    throw new SettingsFault(`${name}: got '${value}', expected an address such as http://127.0.0.1:8080`);
  };
  const addresses = (name: string): readonly string[] => readAddresses(name, text(name));
  const logLevel = text('FERMATA_LOG_LEVEL') ?? 'info';
  if (!logLevels.includes(logLevel)) {
    throw new SettingsFault(`FERMATA_LOG_LEVEL: got '${logLevel}', expected one of ${logLevels.join(', ')}`);
  }
  const host = text('FERMATA_HOST') ?? '127.0.0.1';
  const token = readToken(text('FERMATA_TOKEN'));
  const tokensFile = text('FERMATA_TOKENS_FILE');
  const guarded = token !== null || tokensFile !== null;
  if (!loopbackHosts.includes(host) && !guarded && text('FERMATA_ALLOW_OPEN') !== '1') {
    throw new SettingsFault(
      `FERMATA_HOST: got '${host}', which others can reach without a token; expected a loopback address, or beside it FERMATA_TOKEN, FERMATA_TOKENS_FILE or FERMATA_ALLOW_OPEN=1`,
    );
  }
  return Object.freeze({
    configPath: text('FERMATA_CONFIG'),
    host,
    stateDir: text('FERMATA_STATE_DIR') ?? '.fermata',
    logLevel,
    ports: Object.freeze({
      proxy: port('FERMATA_PROXY_PORT', 8080),
      mcp: port('FERMATA_MCP_PORT', 7000),
      scheduler: port('FERMATA_SCHEDULER_PORT', 5001),
      worker: port('FERMATA_WORKER_PORT', 9464),
      temporal: port('FERMATA_TEMPORAL_PORT', 7233),
      temporalUi: port('FERMATA_TEMPORAL_UI_PORT', 8233),
    }),
    schedulerUrls: addresses('FERMATA_SCHEDULER_URL'),
    proxyUrls: addresses('FERMATA_PROXY_URL'),
    schedulerLease: readSchedulerLease(text('FERMATA_SCHEDULER_LEASE')),
    mcpUrl: address('FERMATA_MCP_URL'),
    temporalUiUrl: address('FERMATA_TEMPORAL_UI_URL'),
    taskQueue: text('FERMATA_TASK_QUEUE') ?? 'fermata',
    deployment: readDeployment(text('FERMATA_DEPLOYMENT'), text('FERMATA_BUILD_ID')),
    token,
    tokensFile,
    redisUrl: readRedisUrl(text('FERMATA_REDIS_URL')),
    drainMs: readDrainMs(text('FERMATA_DRAIN_SECONDS')),
    maxRunning: readMaxRunning(text('FERMATA_MAX_RUNS')),
  });
}

/** Most addresses of one setting. */
const maxAddresses = 16;

/** One address, or several with commas between them; each once. */
function readAddresses(name: string, value: string | null): readonly string[] {
  if (value === null) return Object.freeze([]);
  const given = value.split(',').map((part) => part.trim());
  const addresses = given.map((part) => part.replace(/\/+$/, ''));
  const fine = given.every((part) => /^https?:\/\/[^/\s]+/.test(part));
  if (fine && given.length <= maxAddresses && new Set(addresses).size === addresses.length) {
    return Object.freeze(addresses);
  }
  const rule = `an address such as http://127.0.0.1:8080, or up to ${maxAddresses} different ones with commas between them`;
  throw new SettingsFault(`${name}: got '${value}', expected ${rule}`);
}

function readSchedulerLease(value: string | null): LeaseSetting | null {
  if (value === null) return null;
  const lease = parseLeaseSetting(value);
  if (lease !== null) return lease;
  throw new SettingsFault(
    `FERMATA_SCHEDULER_LEASE: got '${value}', expected file:/path/of/a/folder, or kubernetes:name or kubernetes:namespace/name of a Lease`,
  );
}

/** Temporal refuses dots and colons in the name of a deployment: they part it from its build. */
function readDeployment(name: string | null, buildId: string | null): DeploymentVersion | null {
  if (name === null && buildId === null) return null;
  if (name === null) {
    throw new SettingsFault(
      `FERMATA_DEPLOYMENT: missing beside FERMATA_BUILD_ID '${buildId}'; set both to give the worker a version, or neither`,
    );
  }
  if (buildId === null) {
    throw new SettingsFault(
      `FERMATA_BUILD_ID: missing beside FERMATA_DEPLOYMENT '${name}'; set both to give the worker a version, or neither`,
    );
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new SettingsFault(
      `FERMATA_DEPLOYMENT: got '${name}', expected 1 to 64 letters, digits, '_' or '-', such as fermata`,
    );
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/.test(buildId)) {
    throw new SettingsFault(
      `FERMATA_BUILD_ID: got '${buildId}', expected 1 to 128 letters, digits, '.', '_', '+' or '-', such as 1.4.0 or a commit`,
    );
  }
  return Object.freeze({ name, buildId });
}

/** The value is never part of the message: it is a secret. */
function readToken(value: string | null): string | null {
  if (value === null || /^[\x21-\x7e]{16,512}$/.test(value)) return value;
  throw new SettingsFault(
    'FERMATA_TOKEN: expected 16 to 512 printable ASCII characters without spaces, such as from `openssl rand -hex 32`',
  );
}

/** A Redis address may hold a password, so it is not part of the message either. */
function readRedisUrl(value: string | null): string | null {
  if (value === null || /^rediss?:\/\/[^/]+/.test(value)) return value;
  throw new SettingsFault('FERMATA_REDIS_URL: expected an address such as redis://127.0.0.1:6379/0');
}

const defaultDrainMs = 30_000;
const longestDrainSeconds = 3_600;

function readDrainMs(value: string | null): number {
  if (value === null) return defaultDrainMs;
  if (/^\d{1,4}$/.test(value) && Number(value) <= longestDrainSeconds) return Number(value) * 1_000;
  throw new SettingsFault(
    `FERMATA_DRAIN_SECONDS: got '${value}', expected whole seconds from 0 to ${longestDrainSeconds}`,
  );
}

function readMaxRunning(value: string | null): number {
  if (value === null) return defaultMaxRunning;
  if (/^\d{1,6}$/.test(value) && Number(value) >= 1 && Number(value) <= largestMaxRunning)
    return Number(value);
  throw new SettingsFault(
    `FERMATA_MAX_RUNS: got '${value}', expected how many runs one caller may have at work at once, 1 to ${largestMaxRunning}`,
  );
}
