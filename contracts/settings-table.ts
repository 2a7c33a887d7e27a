/**
 * Every environment variable of fermata's own: what it is for, and what holds without it. One that is not
 * here stops the start. `docs/reference/settings.md` is made from it.
 */
export interface SettingDescription {
  /** What stands for leaving it out, as it would be given; null: leaving it out has no such equal. */
  readonly default: string | null;
  readonly meaning: string;
}

const port = (number: number, what: string): SettingDescription => ({
  default: String(number),
  meaning: `Port of ${what}; 0: any free one.`,
});

export const settingsTable = {
  FERMATA_CONFIG: {
    default: null,
    meaning:
      'The configuration file: pool, policy, tool servers, callers. Without it `fermata.yaml` of the working directory if there is one, else `npm start` has a simulated pool.',
  },
  FERMATA_HOST: {
    default: '127.0.0.1',
    meaning:
      'Address that every service binds to. One that others can reach needs a token, or `FERMATA_ALLOW_OPEN=1`.',
  },
  FERMATA_ALLOW_OPEN: {
    default: null,
    meaning: '`1`: bind to an address that others can reach without a token.',
  },
  FERMATA_TOKEN: {
    default: null,
    meaning: 'Bearer token that opens every door, and with which the services speak to each other.',
  },
  FERMATA_TOKENS_FILE: { default: null, meaning: 'File of named tokens; read again when it changes.' },
  FERMATA_STATE_DIR: {
    default: '.fermata',
    meaning: "Folder of the embedded stack: Temporal's database, fetched programs, logs.",
  },
  FERMATA_LOG_LEVEL: {
    default: 'info',
    meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  },
  FERMATA_PROXY_PORT: port(8080, 'the proxy'),
  FERMATA_MCP_PORT: port(7000, 'the mcp-server'),
  FERMATA_SCHEDULER_PORT: port(5001, 'the scheduler'),
  FERMATA_WORKER_PORT: port(9464, "the worker's health and metrics"),
  FERMATA_TEMPORAL_PORT: port(7233, 'Temporal, when fermata starts it'),
  FERMATA_TEMPORAL_UI_PORT: port(8233, "Temporal's web pages, when fermata starts it"),
  FERMATA_SCHEDULER_URL: {
    default: null,
    meaning:
      'Where the scheduler is; several with commas between them: the active one and those that stand by. Without it on its local port.',
  },
  FERMATA_PROXY_URL: {
    default: null,
    meaning:
      'Where the proxy is; several with commas between them: turns go to the next one while one is away. Without it on its local port.',
  },
  FERMATA_SCHEDULER_LEASE: {
    default: null,
    meaning:
      'Where several schedulers settle which of them is active: `file:/path/of/a/folder`, `kubernetes:name` or `kubernetes:namespace/name`. Without it the scheduler is active.',
  },
  FERMATA_MCP_URL: {
    default: null,
    meaning: 'Where the command line finds the mcp-server; without it on its local port.',
  },
  FERMATA_TEMPORAL_UI_URL: {
    default: null,
    meaning: "Where Temporal's web pages are, for links to them from fermata's page.",
  },
  FERMATA_TASK_QUEUE: { default: 'fermata', meaning: 'Temporal task queue of runs and workers.' },
  FERMATA_DEPLOYMENT: {
    default: null,
    meaning: 'Name of the deployment of a worker that Temporal knows by version; with `FERMATA_BUILD_ID`.',
  },
  FERMATA_BUILD_ID: { default: null, meaning: "The worker's build in that deployment." },
  FERMATA_REDIS_URL: {
    default: null,
    meaning: "Where several proxies count rate limits together; without it in each proxy's memory.",
  },
  FERMATA_DRAIN_SECONDS: {
    default: '30',
    meaning: 'How long turns in flight may go on when a proxy is told to stop, 0 to 3,600.',
  },
  FERMATA_MAX_RUNS: {
    default: '100',
    meaning:
      'Spawned runs that one caller may have at work at once; `callers.NAME.maxRunning` of the configuration goes before it.',
  },
} as const satisfies Readonly<Record<`FERMATA_${string}`, SettingDescription>>;
