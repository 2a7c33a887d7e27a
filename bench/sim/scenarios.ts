/**
 * The scenarios. `flood` is that of the prototype: two replicas, 48 batch and 4 interactive agents that never
 * stop, contexts of about 2,000 tokens, three tool calls of about a second, KV memory for half of the live
 * contexts. The others change one thing each.
 */
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';
import type { EngineConfig } from '../../testkit/sim-engine/core/engine-config.ts';
import type { Scenario } from './scenario.ts';
import type { Load, RunShape, ToolKind } from './workload.ts';

const lookup: ToolKind = { name: 'lookup', share: 1, durationMs: { lowest: 500, highest: 1_500 } };

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

type RunFields = Partial<Omit<RunShape, 'class'>>;

function interactive(agents: number, fields: RunFields = {}): Load {
  return { kind: 'closed', agents, shape: { ...agentRun, class: 'interactive', caller: 'alice', ...fields } };
}

function batch(agents: number, fields: RunFields = {}): Load {
  return { kind: 'closed', agents, shape: { ...agentRun, class: 'batch', caller: 'bob', ...fields } };
}

/** A replica with memory for so many tokens. */
export function memory(tokens: number): Partial<EngineConfig> {
  return { totalBlocks: Math.ceil(tokens / blockTokens) };
}

/** Replicas that together hold the given share of the contexts of all closed-loop agents. */
function memoryFor(share: number, loads: readonly Load[], replicas = 2): Partial<EngineConfig>[] {
  const live = loads.reduce(
    (sum, load) => sum + (load.kind === 'closed' ? load.agents * meanContextTokens(load.shape) : 0),
    0,
  );
  return Array.from({ length: replicas }, () => memory((live * share) / replicas));
}

const warmUpMs = 60_000;
const windowMs = 600_000;

function closedLoop(name: string, about: string, loads: readonly Load[], share = 0.5): Scenario {
  return { name, about, loads, replicas: memoryFor(share, loads), warmUpMs, windowMs };
}

const floodLoads = [batch(48), interactive(4)];

export const flood = closedLoop(
  'flood',
  '48 batch and 4 interactive agents, memory for half of their contexts',
  floodLoads,
);

export const enoughMemory = closedLoop(
  'enough-memory',
  'flood with memory for more than all contexts',
  floodLoads,
  1.5,
);
