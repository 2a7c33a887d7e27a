/** The bounds of the scheduler. */
import { limitsOf, type Limit } from './limit.ts';

export const schedulerLimits: readonly Limit[] = [
  ...limitsOf(
    'scheduler/core/limits.ts',
    [
      'live runs',
      'maxRuns',
      'the run that has rested longest is forgotten; if none rests, the new turn is refused: `overloaded`',
    ],
    ['a run without turns', 'runIdleMs', 'it is forgotten: its next turn begins a run'],
    ['a turn in flight of which nothing is heard', 'turnSilenceMs', 'it is dropped, its place is free'],
    [
      'turns in flight of a proxy that is lost',
      'lostProxyMs',
      'their places are free; before that a resync keeps them',
    ],
    [
      'a turn that is tried again',
      'retryMs',
      'later than this it is a new one, with a new place in the queue',
    ],
    ['lost turns that are remembered for that', 'maxLosses', 'the oldest is forgotten'],
    ['waiting for other proxies after a start', 'resyncGraceMs', 'admissions go on with what is known'],
    ['reports of load that fail in a row', 'staleLoadProbes', 'the load counts as unknown'],
    [
      'blocks of prefixes for each replica without a known capacity',
      'maxPrefixBlocks',
      'the least recently used is forgotten',
    ],
    ['tool names with statistics of their pauses', 'maxToolNames', 'the one used longest ago is forgotten'],
    [
      'callers without turns whose share is remembered',
      'maxIdleCallers',
      'the one gone longest is forgotten',
    ],
    ['replicas listed for one run', 'maxReplicasListed', 'later ones are not listed'],
  ),
  ...limitsOf('scheduler/core/pause-statistics.ts', [
    'pauses remembered for each tool',
    'mostPauses',
    'the oldest is forgotten',
  ]),
  ...limitsOf('scheduler/core/status.ts', [
    'runs in `/status`',
    'maxRunsListed',
    'the most recently active ones are listed',
  ]),
  ...limitsOf('scheduler/core/latency-limit.ts', [
    'places of a replica with `limit: latency`',
    'largestLimit',
    'it grows no further',
    '`maxConcurrent` of the replica',
  ]),
  ...limitsOf('scheduler/host/event-loop.ts', [
    'events that wait for the one before',
    'maxQueued',
    'the scheduler fails loudly; only a loop of events could do it',
  ]),
  ...limitsOf(
    'scheduler/host/link-server.ts',
    ['linked proxies', 'maxLinks', 'the link is refused; that proxy holds its turns and tries again'],
    ['a message of a proxy', 'maxMessageBytes', 'the link is closed; the proxy links anew'],
    ['bytes that wait to be sent to one proxy', 'maxUnsentBytes', 'the link is closed; the proxy links anew'],
    ['pings without an answer, one every 5 s', 'maxUnansweredPings', 'the proxy counts as lost'],
    ['words in a refusal of a link', 'maxReasonBytes', 'they are cut'],
  ),
  ...limitsOf(
    'scheduler/host/bounded-get.ts',
    ['a probe', 'timeoutMs', 'the replica is unhealthy'],
    ['the answer to a probe', 'maxBodyBytes', 'the probe has failed'],
  ),
  ...limitsOf('scheduler/host/served-apis.ts', [
    'asking a replica what it serves',
    'askTimeoutMs',
    'it does not tell; asked again later',
  ]),
  ...limitsOf('scheduler/host/http-routes.ts', [
    'entries of each kind in `/debug/state`',
    'maxDebugEntries',
    'the rest is left out',
  ]),
  ...limitsOf('scheduler/host/metrics.ts', [
    'callers in the metrics',
    'maxCallersShown',
    'the busiest are shown',
  ]),
  ...limitsOf(
    'scheduler/host/lease/lease-times.ts',
    [
      'the lease without a renewal, for those who watch',
      'durationMs',
      'a standby takes it',
      '',
      'leaseTimes: LeaseTimes',
    ],
    [
      'the lease without a renewal, for its holder',
      'heldForMs',
      'it stops admitting, closes its links and stands by',
      '',
      'leaseTimes: LeaseTimes',
    ],
    [
      'one read or write of the lease',
      'answerWithinMs',
      'it has failed and is tried again',
      '',
      'leaseTimes: LeaseTimes',
    ],
    ['a duration that another holder names', 'longestDurationMs', 'it is not believed beyond this'],
  ),
  ...limitsOf(
    'scheduler/host/lease/file-lease.ts',
    ['files of the lease in its folder', 'keptFiles', 'older ones are removed'],
    ['what is read of one', 'maxRecordBytes', 'it is a lease of somebody unknown'],
  ),
  ...limitsOf('scheduler/host/lease/kubernetes-access.ts', [
    'an answer of the Kubernetes API',
    'maxBodyBytes',
    'the read or write has failed',
  ]),
];
