/** The bounds of every service. */
import { limitsOf, type Limit } from './limit.ts';

export const everywhereLimits: readonly Limit[] = [
  ...limitsOf(
    'contracts/settings.ts',
    ['addresses in one setting', 'maxAddresses', 'the service does not start, and says why'],
    ['`FERMATA_DRAIN_SECONDS`', 'longestDrainSeconds', 'the service does not start, and says why'],
  ),
  ...limitsOf('config/read-config.ts', [
    'the configuration file',
    'maxConfigBytes',
    'it is refused; the one before stays in force',
  ]),
  ...limitsOf('contracts/config-status.ts', [
    'faults of it that are shown',
    'maxFaultLines',
    'the rest is left out',
  ]),
  ...limitsOf(
    'auth/tokens-file.ts',
    ['named tokens', 'maxTokens', 'the file is refused; the one before stays in force'],
    ['the file of named tokens', 'maxFileBytes', 'the file is refused; the one before stays in force'],
  ),
  ...limitsOf('auth/token-match.ts', ['a token, in characters', 'maxTokenLength', '401 `unauthorized`']),
  ...limitsOf('telemetry/otel-settings.ts', [
    '`OTEL_BSP_MAX_QUEUE_SIZE`',
    'mostQueuedSpans',
    'the service does not start, and says why',
  ]),
  ...limitsOf('telemetry/otel-telemetry.ts', [
    'exporting the last spans at the end',
    'closeWithinMs',
    'they are dropped',
  ]),
  ...limitsOf('telemetry/run-traces.ts', [
    'runs whose trace is remembered',
    'mostKept',
    'the oldest is asked of its run',
  ]),
  ...limitsOf(
    'activities/tracing/ended-runs.ts',
    ['ended runs whose span waits', 'mostWaiting', 'more are not traced'],
    ['ended runs that are remembered', 'mostTold', 'the oldest is forgotten'],
  ),
];
