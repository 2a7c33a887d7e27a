/**
 * `fermata up`: starts the embedded stack, says where everything is, and stops it in order on Ctrl-C.
 * A second Ctrl-C ends at once. With `--json` the ready line is one JSON object, for scripts.
 */
import { join } from 'node:path';
import { readTokens } from '../auth/tokens-file.ts';
import type { EngineChoice } from './engine-choices.ts';
import { startStack, type Stack } from './embedded-stack.ts';
import { openLog } from './log-file.ts';
import { openConfigFile } from './read-config.ts';
import { SetupFault } from './setup/setup-fault.ts';
import { waitForStop } from './stop-signals.ts';
import { makeStateDir } from './state-dir.ts';
import { readTemporalCluster } from '../temporal/temporal-settings.ts';
import { parseSettings, type Settings } from '../contracts/settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface UpOptions {
  /** null: the pool of the configuration file, or the simulated one where there is none. */
  readonly engine: EngineChoice | null;
  /** Path of the configuration file; null: what the settings say. */
  readonly config: string | null;
  /** One process for each service. */
  readonly separate: boolean;
  /** Print the ready line as one JSON object. */
  readonly json: boolean;
}

/** @returns the exit code: 0 when it was asked to stop. */
export async function up(options: UpOptions, environment: Environment): Promise<0 | 1> {
  const startedAtMs = performance.now();
  const settings = parseSettings(environment);
  refuseVersion(settings);
  refuseLease(settings, options.separate);
  const logger = openLog(join(makeStateDir(settings.stateDir), 'logs', 'fermata.log'), settings.logLevel);
  // Faults of the files are told before anything is started.
  const live =
    options.engine === null ? await openConfigFile(options.config ?? settings.configPath, logger) : null;
  if (settings.tokensFile !== null) await readTokens(settings.tokensFile);
  let stack: Stack | null = null;
  const hasFiles = live !== null || settings.tokensFile !== null;
  const stopRequested = waitForStop(hasFiles ? () => stack?.reload() : null);
  stack = await startStack({
    settings,
    environment,
    temporal: readTemporalCluster(environment),
    config: live?.current() ?? null,
    ...(live === null ? {} : { live }),
    engine: options.engine ?? 'simulated',
    separate: options.separate,
    logger,
    progress: (line) => process.stderr.write(`fermata: ${line}\n`),
  });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  process.stdout.write(
    options.json ? `${JSON.stringify(readyObject(stack))}\n` : readyText(stack, seconds, settings),
  );
  const ended = await Promise.race([stopRequested, stack.childEnded]);
  const bySignal = ended === null;
  process.stderr.write(
    bySignal
      ? 'fermata: stopping ...\n'
      : `fermata: ${ended} ended by itself; stopping. Its log is in ${settings.stateDir}/logs\n`,
  );
  live?.close();
  await stack.close();
  return bySignal ? 0 : 1;
}

/** Its runs would be pinned to this build, and stand still for ever once another build is started. */
function refuseVersion({ deployment }: Settings): void {
  if (deployment === null) return;
  throw new SetupFault(
    `FERMATA_DEPLOYMENT: got '${deployment.name}', but the embedded stack has one worker and no version; unset FERMATA_DEPLOYMENT and FERMATA_BUILD_ID, or start workers of their own (docs/deploys.md)`,
  );
}

/** It would be ignored: a scheduler within the stack is the only one. */
function refuseLease({ schedulerLease }: Settings, separate: boolean): void {
  if (schedulerLease === null || separate) return;
  throw new SetupFault(
    'FERMATA_SCHEDULER_LEASE: is set, but the embedded stack has one scheduler and no standby; unset it, or start schedulers of their own (docs/guides/high-availability.md)',
  );
}

function readyObject(stack: Stack): object {
  const { close: _close, reload: _reload, childEnded: _childEnded, temporal, ...facts } = stack;
  // Not the rest of it, which holds keys.
  const { address, namespace } = temporal;
  return { ready: true, pid: process.pid, ...facts, temporal: { address, namespace } };
}

function readyText(stack: Stack, seconds: number, settings: Settings): string {
  const header = headerToSend(settings);
  const claudeHeader = header === null ? '' : ` --header "${header}"`;
  const jsonHeader =
    header === null ? '' : `, "headers": {"Authorization": "${header.replace('Authorization: ', '')}"}`;
  return `
fermata is ready (${seconds.toFixed(1)} s)

  proxy      ${stack.proxyUrl}/v1    base_url of agents with a loop of their own
  page       ${stack.pageUrl}    see and steer runs
  MCP        ${stack.mcpUrl}    spawn and await sub-agents
  scheduler  ${stack.schedulerUrl}/status
  Temporal   ${stack.temporalUiUrl ?? stack.temporal.address}

Connect Claude Code:
  claude mcp add --transport http fermata ${stack.mcpUrl}${claudeHeader}
Any other MCP client:
  {"mcpServers": {"fermata": {"type": "http", "url": "${stack.mcpUrl}"${jsonHeader}}}}

Ctrl-C stops everything; the next start finds the same runs.
`;
}

/** What a client must send, never with the token itself: this text may end up in a log. */
function headerToSend({ token, tokensFile }: Settings): string | null {
  if (token !== null) return 'Authorization: Bearer $FERMATA_TOKEN';
  return tokensFile === null ? null : 'Authorization: Bearer YOUR_TOKEN';
}
