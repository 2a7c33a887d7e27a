/** The bounds of the mcp-server. */
import { limitsOf, type Limit } from './limit.ts';

export const mcpServerLimits: readonly Limit[] = [
  ...limitsOf('mcp-server/mcp/mcp-endpoint.ts', ['an MCP request', 'maxBodyBytes', '413, in JSON-RPC']),
  ...limitsOf('mcp-server/api/api-fault.ts', [
    'a request of the run API',
    'maxBodyBytes',
    '413 `body_too_large`',
  ]),
  ...limitsOf('mcp-server/runs/spawn-request.ts', ['a prompt', 'maxPromptBytes', 'the spawn is refused']),
  ...limitsOf('mcp-server/mcp/calls-in-progress.ts', [
    'MCP calls under way',
    'maxCalls',
    'the call is refused: try again',
  ]),
  ...limitsOf(
    'mcp-server/mcp/legacy-sessions.ts',
    [
      'sessions of older clients',
      'maxSessions',
      'the longest idle makes room; if none is idle, a new one is refused',
      '',
      'defaultSessionLimits:',
    ],
    [
      'such a session without a request',
      'idleMs',
      'it ends; the client begins a new one',
      '',
      'defaultSessionLimits:',
    ],
  ),
  ...limitsOf(
    'mcp-server/mcp/tool-definitions.ts',
    ['`await`, as asked', 'maxWaitSeconds', 'more is refused'],
    ['`await`, by itself', 'defaultWaitSeconds', 'it tells how things stand; ask again'],
  ),
  ...limitsOf('mcp-server/api/run-routes.ts', [
    'waiting at the run API',
    'maxWaitSeconds',
    'it tells how things stand; ask again',
  ]),
  ...limitsOf('mcp-server/runs/fair-cut.ts', [
    'texts of one answer to a model',
    'answerBytes',
    'each is cut to a fair share, with a note',
  ]),
  ...limitsOf('mcp-server/runs/list-runs.ts', [
    'runs listed at once',
    'listLimit',
    'the newest are listed; the run API has pages',
  ]),
  ...limitsOf('mcp-server/runs/look-at-runs.ts', [
    'runs that one question looks through',
    'maxRuns',
    'the rest is left out',
  ]),
  ...limitsOf('mcp-server/runs/page-of-runs.ts', [
    'runs looked at for one page',
    'maxLookedAt',
    'the page is shorter; ask for the next',
  ]),
  ...limitsOf(
    'mcp-server/runs/read-transcript.ts',
    ['an entry of a transcript page', 'entryBytes', 'it is cut, with a note'],
    ['a page of a transcript', 'pageBytes', 'the rest is on the next'],
  ),
  ...limitsOf(
    'mcp-server/runs/read-timeline.ts',
    ['spans of a timeline', 'maxSpans', 'the oldest are left out'],
    ['executions of a run in it', 'maxExecutions', 'the newest are read'],
  ),
  ...limitsOf(
    'mcp-server/runs/run-feed.ts',
    ['listeners to changes', 'maxListeners', '503', '', 'const defaults'],
    ['listeners of one caller', 'maxListenersEach', '503', '', 'const defaults'],
    [
      'changes kept for those who come back',
      'maxKept',
      'they are told to read everything again',
      '',
      'const defaults',
    ],
  ),
  ...limitsOf('mcp-server/runs/run-changes.ts', [
    'runs whose changes are watched',
    'maxRuns',
    'the one not seen for longest is forgotten',
  ]),
  ...limitsOf(
    'mcp-server/api/event-stream.ts',
    ['a stream of events', 'lastsMs', 'it ends; the client opens another', '', 'const defaults'],
    [
      'bytes that a slow reader has not taken',
      'maxWaitingBytes',
      'the stream is cut; the client opens another',
      '',
      'const defaults',
    ],
  ),
  ...limitsOf('mcp-server/runs/live-turn.ts', [
    'what a worker tells of a turn',
    'maxBytes',
    'it is left out',
  ]),
  ...limitsOf('mcp-server/runs/temporal-link.ts', [
    'a call to Temporal, with its tries',
    'defaultCallMs',
    '503 `unavailable`',
  ]),
  ...limitsOf(
    'mcp-server/runs/proxy-client.ts',
    ['asking for the models', 'modelsLimitMs', 'the spawn goes on without that check'],
    ['`decide`', 'decideLimitMs', 'it is told to try again'],
  ),
  ...limitsOf(
    'mcp-server/runs/pool-client.ts',
    ['asking the scheduler', 'limitMs', 'the next one is asked, or the pool is not known'],
    ['its answer', 'maxBytes', 'the pool is not known'],
  ),
  ...limitsOf(
    'mcp-server/runs/spawn-queue.ts',
    ['spawns sent to one tree at once', 'batchRuns', 'the rest goes with the next'],
    ['bytes of them', 'batchBytes', 'the rest goes with the next'],
  ),
  ...limitsOf('mcp-server/runs/caller-limit.ts', [
    'callers whose runs are counted',
    'maxCallers',
    'an idle one is counted anew',
  ]),
  ...limitsOf(
    'mcp-server/mcp/await-asking.ts',
    [
      'questions put to a client in one call',
      'maxRoundsInResult',
      'it waits on without asking; answer with `approve`',
    ],
    ['the same on a stream', 'maxRoundsOnStream', 'it waits on without asking; answer with `approve`'],
    [
      'waiting for an answer of its user',
      'defaultAnswerMs',
      'the form is taken back; the approval stays open',
    ],
  ),
  ...limitsOf('mcp-server/mcp/task-state.ts', [
    'approvals in a task',
    'maxOpen',
    'the rest is told when these are decided',
  ]),
  ...limitsOf('mcp-server/mcp/server-factory.ts', [
    'calls under way when told to stop',
    'drainMs',
    'they are cut',
  ]),
  ...limitsOf('mcp-server/api/open-calls.ts', [
    'waiting requests of the run API when told to stop',
    'drainMs',
    'they are cut',
  ]),
  ...limitsOf('mcp-server/create-mcp-server.ts', [
    'last bytes after that',
    'lastBytesMs',
    'connections are closed',
  ]),
];
