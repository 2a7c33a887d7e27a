/** Which scenarios of the public suite a server with tools alone can be held to, and why not to the others. */
import type { SuiteName } from './conformance-suite.ts';

export interface Applying {
  readonly suite: SuiteName;
  readonly scenario: string;
  readonly version?: string;
  /** Checks of it that need what this server does not have, by id. */
  readonly untestable?: readonly string[];
}

const all = ['2025-06-18', '2025-11-25', '2026-07-28'] as const;
const sessionful = ['2025-06-18', '2025-11-25'] as const;
const withStreams = ['2025-11-25', '2026-07-28'] as const;

function at(scenario: string, versions: readonly string[], untestable: readonly string[] = []): Applying[] {
  return versions.map((version) => ({ suite: 'next', scenario, version, untestable }));
}

export const applying: readonly Applying[] = [
  { suite: 'stable', scenario: 'server-initialize' },
  { suite: 'stable', scenario: 'ping' },
  { suite: 'stable', scenario: 'tools-list' },
  { suite: 'stable', scenario: 'server-sse-multiple-streams' },
  { suite: 'stable', scenario: 'dns-rebinding-protection' },
  ...at('server-initialize', sessionful),
  ...at('server-session-lifecycle', ['2025-03-26', ...sessionful]),
  ...at('ping', sessionful),
  ...at('tools-list', all),
  ...at('server-sse-multiple-streams', withStreams),
  ...at('dns-rebinding-protection', withStreams),
  ...at('http-header-validation', ['2026-07-28']),
  ...at('input-required-result-unsupported-methods', ['2026-07-28']),
  ...at(
    'server-stateless',
    ['2026-07-28'],
    [
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
    ],
  ),
  ...at(
    'caching',
    ['2026-07-28'],
    [
      'sep-2549-prompts-list-caching-hints',
      'sep-2549-resources-list-caching-hints',
      'sep-2549-resources-templates-list-caching-hints',
    ],
  ),
  {
    suite: 'next',
    scenario: 'tasks-capability-negotiation',
    untestable: ['sep-2663-server-rejects-undeclared-client', 'tasks-per-request-meta-opt-in'],
  },
  {
    suite: 'next',
    scenario: 'tasks-dispatch-and-envelope',
    untestable: [
      'tasks-server-directed-creation-no-hint',
      'sep-2663-legacy-task-param-ignored',
      'tasks-immediate-result-shortcut',
      'tasks-result-type-complete-on-non-task-responses',
      'sep-2663-durable-create-strong-consistency',
    ],
  },
  {
    suite: 'next',
    scenario: 'tasks-request-headers',
    untestable: [
      'tasks-headers-tolerate-mcp-method-on-tools-call',
      'sep-2663-routing-headers-accepted-on-tasks-get',
      'sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get',
    ],
  },
];

/** What a check that cannot be made is told with: a fixture tool, prompts or resources that are missing. */
export const untestableWords =
  /^Not testable: server does not list|^Tool \S+ not found|^(prompts|resources)\/\S+ returned .* Method not found|fixture .* unavailable/;

/** By the beginning of a scenario's name. */
export const excused: readonly (readonly [string, string])[] = [
  ['tools-call-', 'calls a fixture tool of its own (test_simple_text and so on)'],
  ['json-schema-2020-12', 'looks for a fixture tool of its own'],
  ['elicitation-sep', 'calls a fixture tool of its own'],
  ['http-custom-header-server-validation', 'needs a tool with parameters in headers'],
  ['server-sse-polling', 'calls a fixture tool of its own, and streams that are resumed, which it lacks'],
  ['input-required-result-', 'calls fixture tools of its own'],
  ['tasks-', 'calls fixture tools of its own (slow_compute and so on)'],
  ['logging-', 'no logging'],
  ['completion-', 'no completion'],
  ['resources-', 'no resources'],
  ['sep-2164-', 'no resources'],
  ['sep-2640-', 'no skills'],
  ['prompts-', 'no prompts'],
];
