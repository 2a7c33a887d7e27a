/** Temporal's logger interface on top of pino, and its runtime set up once a process. */
import { Runtime, type Logger as TemporalLogger, type LogLevel, type LogMetadata } from '@temporalio/worker';
import type { Logger } from 'pino';

const pinoLevels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

export function temporalLogger(logger: Logger): TemporalLogger {
  const log = (level: LogLevel, message: string, meta?: LogMetadata): void => {
    const about = meta ?? {};
    logger[pinoLevels[level]](aboutRun(level === 'TRACE' ? withoutPayloads(about) : about), message);
  };
  return {
    log,
    trace: (message, meta) => log('TRACE', message, meta),
    debug: (message, meta) => log('DEBUG', message, meta),
    info: (message, meta) => log('INFO', message, meta),
    warn: (message, meta) => log('WARN', message, meta),
    error: (message, meta) => log('ERROR', message, meta),
  };
}

/** What may be told at level `trace`, where the SDK's own lines hold the inputs of workflows and activities. */
const namesOnly = ['sdkComponent', 'taskQueue', 'workflowId', 'runId', 'activityId', 'activityType'] as const;

function withoutPayloads(meta: LogMetadata): LogMetadata {
  return Object.fromEntries(namesOnly.flatMap((name) => (name in meta ? [[name, meta[name]]] : [])));
}

/** Lines of a workflow or an activity name its run as all lines of fermata do, and errors are written as such. */
function aboutRun(meta: LogMetadata): LogMetadata {
  const { error, ...rest } = meta;
  const about = error instanceof Error ? { ...rest, err: error } : meta;
  const { workflowId } = meta;
  return typeof workflowId === 'string' && !('run' in meta)
    ? { ...about, run: workflowId.replace(/^tree_/, '') }
    : about;
}

let installed = false;

/** Once a process: Temporal must not take the signals, which belong to the process that hosts the worker. */
export function installTemporalRuntime(logger: Logger): void {
  if (installed) return;
  installed = true;
  Runtime.install({
    logger: temporalLogger(logger),
    shutdownSignals: [],
    // The core's own words go to our log, not to the console, and not one line for each poll of an outage.
    telemetryOptions: { logging: { forward: {}, filter: 'error,temporalio_sdk_core=warn' } },
  });
}
