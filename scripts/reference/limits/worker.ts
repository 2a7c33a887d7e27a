/** The bounds of the worker. */
import { limitsOf, type Limit } from './limit.ts';

export const workerLimits: readonly Limit[] = [
  ...limitsOf(
    'activities/create-worker.ts',
    [
      'turns and tool calls at once',
      'defaultActivitySlots',
      'the next waits in its task queue; another worker may take it',
    ],
    ['waiting before a worker that broke is made anew', 'longestRestartMs', 'it is tried then'],
  ),
  ...limitsOf(
    'activities/model-turn/model-client.ts',
    ['a reply of a model', 'longestReply', 'it is broken off: `ReplyTooLarge`'],
    ['connecting to the only proxy', 'connectMs', 'the turn is tried again'],
    ['connecting to one of several proxies', 'connectOneOfSeveralMs', 'the next one is asked at once'],
    ['a stream without a byte', 'silentStreamMs', 'it counts as broken'],
  ),
  ...limitsOf('contracts/addresses.ts', [
    'a proxy or scheduler that did not answer is asked last',
    'awayMs',
    'then it is asked in its turn again',
  ]),
  ...limitsOf(
    'activities/model-turn/classify-failure.ts',
    [
      'tries of a turn at a failing engine',
      'boundedTries',
      'the run fails with what the engine said; congestion and lost connections are waited out for as long as the run lives',
    ],
    [
      'between two tries, growing from 1 s',
      'longestBackoffMs',
      'tried again; what an engine asks for may be longer',
    ],
    ['between two tries while no proxy answers', 'longestBackoffOfProxyMs', 'tried again'],
    ['words of a failure', 'longestMessage', 'they are cut'],
  ),
  ...limitsOf('contracts/retry-after.ts', [
    'a `Retry-After` that is believed',
    'longestRetryAfterMs',
    'it is not waited longer',
  ]),
  ...limitsOf('activities/model-turn/model-turn.ts', [
    'the result of a turn',
    'resultLimitBytes',
    '`ReplyTooLarge`',
  ]),
  ...limitsOf('activities/model-turn/transcript-cache.ts', [
    'transcripts in memory, in characters',
    'cacheLimit',
    'the one used longest ago is asked of its run when it is needed',
  ]),
  ...limitsOf('activities/model-turn/reply-events.ts', [
    'an event of a stream, in characters',
    'longestEvent',
    'the stream counts as broken',
  ]),
  ...limitsOf(
    'activities/model-turn/openai-door.ts',
    ['a list of models', 'longestListBytes', 'it is cut, and is no list'],
    ['an error of an engine', 'longestErrorBytes', 'it is cut'],
  ),
  ...limitsOf(
    'activities/model-turn/engine-manners.ts',
    ['models whose manners are remembered', 'mostModels', 'more are not remembered'],
    ['runs whose form is remembered', 'mostRuns', 'the oldest is forgotten'],
  ),
  ...limitsOf('activities/model-turn/pool-models.ts', [
    'what a proxy told of its models',
    'keptMs',
    'it is asked again; while it is away the old answer counts for 10 min',
  ]),
  ...limitsOf('activities/model-turn/proxy-death.ts', [
    'asking whether a proxy lives',
    'askLimitMs',
    'it counts as away',
  ]),
  ...limitsOf('activities/create-activities.ts', [
    'lists of tools in memory, in characters',
    'toolListLimit',
    'the one used longest ago is asked of its run when it is needed',
  ]),
  ...limitsOf('activities/call-tool.ts', [
    'a tool call that must not be repeated, when its worker stops',
    'finishWithinMs',
    'it is broken off, and the model is told',
  ]),
  ...limitsOf('activities/tool-calls/cut-result.ts', [
    'the result of a tool',
    'resultLimitBytes',
    'its middle is cut, and the model is told',
  ]),
  ...limitsOf(
    'contracts/tool-images.ts',
    ['an image of a tool', 'imageLimitBytes', 'it is left out, and the model is told'],
    ['images of one result', 'resultImagesLimitBytes', 'the rest is left out'],
    ['images of one result, in number', 'mostResultImages', 'the rest is left out'],
    ['images in a transcript', 'mostTranscriptImages', 'the oldest are left out'],
  ),
  ...limitsOf(
    'activities/tool-calls/validate-arguments.ts',
    ['compiled schemas', 'mostCompiled', 'the oldest is compiled again'],
    ['faults told to the model', 'mostProblems', 'the rest is left out'],
  ),
  ...limitsOf(
    'activities/tool-calls/engine-schema.ts',
    ['depth of a schema that engines are sent', 'deepest', 'below, anything goes'],
    ['parts of one', 'mostSchemas', 'beyond, anything goes'],
  ),
  ...limitsOf('activities/tool-calls/coerce-arguments.ts', [
    'steps of putting arguments right',
    'mostSteps',
    'they are judged as they are',
  ]),
  ...limitsOf('activities/tool-servers/bounded-fetch.ts', [
    'an answer of a tool server over HTTP',
    'longestMessage',
    'the call fails',
  ]),
  ...limitsOf(
    'activities/tool-servers/stdio-transport.ts',
    ['a message of a tool server on this machine', 'longestMessage', 'it is ended and started anew'],
    ['a line of its errors, in characters', 'longestStderrLine', 'it is dropped'],
    ['what it says after it has exited', 'drainMs', 'it is not waited for'],
  ),
  ...limitsOf('activities/tool-servers/connection.ts', [
    'connecting to a tool server',
    'connectTimeoutMs',
    'the call fails; its tools are listed as last known',
  ]),
  ...limitsOf('activities/tool-servers/keep-connection.ts', [
    'between two starts of a tool server',
    'longestRestartWaitMs',
    'it is started again',
  ]),
  ...limitsOf(
    'activities/tool-servers/list-pages.ts',
    ['pages of its list', 'mostPages', 'the rest is left out, with a warning'],
    ['tools of one server', 'mostItems', 'the rest is left out, with a warning'],
  ),
  ...limitsOf(
    'activities/tool-servers/tool-registry.ts',
    [
      'listing the tools of a server',
      'serverListMs',
      'they are listed as last known, or left out, with a warning',
    ],
    ['tools offered to one run', 'listingLimitBytes', 'the rest is left out, with a warning'],
  ),
  ...limitsOf(
    'activities/live-turns.ts',
    ['listeners to what one model writes', 'mostWaiting', 'more are answered at once'],
    ['text in one answer to them, in characters', 'longestText', 'the rest comes with the next answer'],
  ),
  ...limitsOf('activities/kept-bundle.ts', [
    'compiled workflows in the state directory',
    'keptBundles',
    'the oldest is removed',
  ]),
  ...limitsOf('activities/connect-temporal.ts', [
    'waiting for Temporal at the start',
    'startTimeoutMs',
    'the worker ends and says why',
  ]),
  ...limitsOf('activities/worker-metrics.ts', [
    'kinds of failure in the metrics',
    'mostFailureTypes',
    'the rest counts as `other`',
  ]),
];
