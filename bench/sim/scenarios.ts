/**
 * The scenarios. `flood` is that of the prototype: two replicas, 48 batch and 4 interactive agents that never
 * stop, contexts of about 2,000 tokens, three tool calls of about a second, KV memory for half of the live
 * contexts. The others change one thing each.
 */
import type { ServiceClass } from '../../contracts/service-class.ts';
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';
import type { EngineConfig } from '../../testkit/sim-engine/core/engine-config.ts';
import type { Scenario } from './scenario.ts';
import type { ClosedLoad, RunShape, ToolKind } from './workload.ts';

/** As the fake tool server's. */
const lookup: ToolKind = { name: 'lookup', share: 1, durationMs: { lowest: 900, highest: 1_100 } };

const agentRun: Omit<RunShape, 'class' | 'caller'> = {
  toolCalls: { lowest: 3, highest: 3 },
  promptTokens: { lowest: 1_600, highest: 2_000 },
  outputTokens: { lowest: 40, highest: 80 },
  resultTokens: { lowest: 40, highest: 120 },
  tools: [lookup],
};

/** Mean tokens of a live run of this shape, over its turns. */
export function meanContextTokens(shape: RunShape): number {
  const middle = ({ lowest, highest }: { lowest: number; highest: number }): number => (lowest + highest) / 2;
  const perStep = middle(shape.outputTokens) + middle(shape.resultTokens);
  return middle(shape.promptTokens) + (middle(shape.toolCalls) / 2) * perStep + middle(shape.outputTokens);
}

export type RunFields = Partial<Omit<RunShape, 'class'>>;

/** Closed-loop agents; unless `fields` say otherwise, those of the flood. */
export function agents(serviceClass: ServiceClass, count: number, fields: RunFields = {}): ClosedLoad {
  const caller = serviceClass === 'interactive' ? 'alice' : 'bob';
  return { kind: 'closed', agents: count, shape: { ...agentRun, class: serviceClass, caller, ...fields } };
}

const interactive = (count: number, fields?: RunFields): ClosedLoad => agents('interactive', count, fields);
const batch = (count: number, fields?: RunFields): ClosedLoad => agents('batch', count, fields);

/** A replica with memory for so many tokens. */
function memory(tokens: number): Partial<EngineConfig> {
  return { totalBlocks: Math.ceil(tokens / blockTokens) };
}

/** Replicas that together hold the given share of the contexts of all closed-loop agents. */
export function memoryFor(
  share: number,
  loads: readonly ClosedLoad[],
  replicas = 2,
): Partial<EngineConfig>[] {
  const live = loads.reduce((sum, load) => sum + load.agents * meanContextTokens(load.shape), 0);
  return Array.from({ length: replicas }, () => memory((live * share) / replicas));
}

const warmUpMs = 60_000;
const windowMs = 300_000;

/** Closed loops on replicas that hold `share` of their contexts. */
function closedLoop(name: string, about: string, loads: readonly ClosedLoad[], share = 0.5): Scenario {
  return { name, about, loads, replicas: memoryFor(share, loads), warmUpMs, windowMs };
}

const floodLoads = [batch(48), interactive(4)];

export const flood: Scenario = {
  ...closedLoop('flood', '48 batch and 4 interactive agents, memory for half of their contexts', floodLoads),
  windowMs: 600_000,
};

const lightLoad: Scenario = {
  ...flood,
  name: 'light-load',
  about: '20 batch and 6 interactive runs a minute, at random, on the engines of the flood',
  loads: [
    { kind: 'poisson', runsPerMinute: 20, shape: { ...agentRun, class: 'batch', caller: 'bob' } },
    { kind: 'poisson', runsPerMinute: 6, shape: { ...agentRun, class: 'interactive', caller: 'alice' } },
  ],
};

const enoughMemory = closedLoop(
  'enough-memory',
  'the flood with memory for 1.5 times its contexts',
  floodLoads,
  1.5,
);

const longTailed: RunFields = {
  tools: [
    { ...lookup, share: 0.9 },
    { name: 'lookup', share: 0.1, durationMs: { lowest: 20_000, highest: 60_000 } },
  ],
};

const longTails: Scenario = {
  ...closedLoop('long-tails', 'one call in ten of the same tool takes 20 to 60 s', [
    batch(48, longTailed),
    interactive(4, longTailed),
  ]),
  windowMs: 600_000,
};

const slow: RunFields = {
  tools: [
    { ...lookup, share: 0.5 },
    { name: 'deep_search', share: 0.5, durationMs: { lowest: 20_000, highest: 60_000 } },
  ],
};

const slowTools: Scenario = {
  ...closedLoop('slow-tools', 'half of the calls go to a tool that takes 20 to 60 s; 96 and 8 agents', [
    batch(96, slow),
    interactive(8, slow),
  ]),
  windowMs: 600_000,
};

const sharing: RunFields = { shared: { prompts: 3, tokens: 1_200 } };

const sharedPrompts = closedLoop(
  'shared-prompts',
  'three system prompts of 1,200 tokens begin all prompts; memory for 0.3 of what unshared ones need',
  [batch(48, sharing), interactive(4, sharing)],
  0.3,
);

const growth: RunFields = {
  toolCalls: { lowest: 5, highest: 5 },
  resultTokens: { lowest: 880, highest: 1_000 },
};

const growing = closedLoop('growing-contexts', 'contexts grow by 1,000 tokens a step, five steps', [
  batch(48, growth),
  interactive(4, growth),
]);

const sizes: RunFields = { promptTokens: { lowest: 500, highest: 8_000 } };

const mixedSizes = closedLoop('mixed-sizes', 'first prompts of 500 to 8,000 tokens', [
  batch(48, sizes),
  interactive(4, sizes),
]);

const [even = memory(32_768)] = flood.replicas;
const blocksOfBoth = 2 * (even.totalBlocks ?? 0);

const unequal: Scenario = {
  ...flood,
  name: 'unequal-replicas',
  about: 'the flood; one replica has two thirds of the memory, the other half of its speed',
  windowMs,
  replicas: [
    { totalBlocks: Math.round((blocksOfBoth * 2) / 3) },
    {
      totalBlocks: Math.round(blocksOfBoth / 3),
      prefillTokensPerSecond: 4_000,
      decodeBaseMs: 12,
      decodePerRequestMs: 0.7,
    },
  ],
};

const bursts: Scenario = {
  ...flood,
  name: 'bursts',
  about: '60 batch runs within 2 s, every minute, beside 4 interactive agents',
  loads: [
    {
      kind: 'bursts',
      runs: 60,
      everyMs: 60_000,
      spreadMs: 2_000,
      shape: { ...agentRun, class: 'batch', caller: 'bob' },
    },
    interactive(4),
  ],
};

const hugeContext: Scenario = {
  ...flood,
  name: 'huge-context',
  about: 'the flood, and one batch agent whose contexts fill three quarters of a replica',
  windowMs,
  knownLoss:
    "The huge context is served in its order, so a replica drains for each of its runs (14 to 46 s); ThunderAgent's budget resumes the smallest first and serves no turn of it",
  loads: [...floodLoads, batch(1, { promptTokens: { lowest: 19_500, highest: 20_000 } })],
};

const crowd: Scenario = {
  ...flood,
  name: 'crowd',
  about: '200 batch and 4 interactive agents on the engines of the flood',
  windowMs,
  loads: [batch(200), interactive(4)],
};

const batchOnly = closedLoop('batch-only', '52 batch agents, memory for half', [batch(52)]);
const interactiveOnly = closedLoop('interactive-only', '52 interactive agents, memory for half', [
  interactive(52),
]);

export const scenarios: readonly Scenario[] = [
  flood,
  lightLoad,
  enoughMemory,
  longTails,
  slowTools,
  sharedPrompts,
  growing,
  mixedSizes,
  unequal,
  bursts,
  hugeContext,
  crowd,
  batchOnly,
  interactiveOnly,
];
