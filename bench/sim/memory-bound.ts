/**
 * The throughput that KV memory allows in a closed loop: contexts that fit ÷ (mean pause + mean turn without
 * queueing). The turn is measured where nothing queues and nothing is evicted: as many agents as contexts fit,
 * on the same engines with memory to spare, each kept where its first turn went. So it has what a batch of
 * that size costs, and nothing of what waiting costs.
 *
 * An engine evicts what was used least recently and knows no runs: what a finished run leaves is younger than
 * every context that was paused before, so it stays until those have come back. `besideLeftovers` is the same
 * bound with the room for that taken off: contexts that fit beside those of the runs that ended within one
 * longest pause.
 */
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';
import { defaultEngineConfig } from '../../testkit/sim-engine/core/engine-config.ts';
import { sticky } from './arms/routers.ts';
import { measure } from './measure.ts';
import type { Scenario } from './scenario.ts';
import { meanContextTokens } from './scenarios.ts';
import { Simulation } from './simulation.ts';
import type { Range, RunShape } from './workload.ts';

export interface MemoryBound {
  readonly contextsThatFit: number;
  /** Mean time between two turns of an agent; between two runs it is none. */
  readonly meanPauseMs: number;
  readonly meanTurnMs: number;
  readonly turnsPerMinute: number;
  readonly besideLeftovers: { readonly contextsThatFit: number; readonly turnsPerMinute: number };
}

/** null: the scenario has loads that are no closed loops, or agents of different shapes. */
export function memoryBound(scenario: Scenario, seed: number): MemoryBound | null {
  const closed = scenario.loads.flatMap((load) => (load.kind === 'closed' ? [load] : []));
  const shape = closed[0]?.shape;
  if (shape === undefined || closed.length < scenario.loads.length) return null;
  if (closed.some((load) => meanContextTokens(load.shape) !== meanContextTokens(shape))) return null;
  const memoryTokens = scenario.replicas.reduce((sum, { totalBlocks }) => {
    return sum + (totalBlocks ?? defaultEngineConfig.totalBlocks) * blockTokens;
  }, 0);
  const agents = closed.reduce((sum, load) => sum + load.agents, 0);
  const contextsThatFit = Math.min(agents, memoryTokens / meanContextTokens(shape));
  const meanTurnMs = turnWithoutQueueingMs(scenario, shape, Math.round(contextsThatFit), seed);
  const meanPauseMs = pausePerTurnMs(shape);
  const turnMs = meanPauseMs + meanTurnMs;
  const runMs = (mid(shape.toolCalls) + 1) * turnMs;
  const live = contextsThatFit / (1 + longestPauseMs(shape) / runMs);
  return {
    contextsThatFit,
    meanPauseMs,
    meanTurnMs,
    turnsPerMinute: (contextsThatFit / turnMs) * 60_000,
    besideLeftovers: { contextsThatFit: live, turnsPerMinute: (live / turnMs) * 60_000 },
  };
}

function turnWithoutQueueingMs(scenario: Scenario, shape: RunShape, agents: number, seed: number): number {
  const roomy = scenario.replicas.map((replica) => ({
    ...replica,
    totalBlocks: (replica.totalBlocks ?? defaultEngineConfig.totalBlocks) * 4,
  }));
  const alone: Scenario = { ...scenario, replicas: roomy, loads: [{ kind: 'closed', agents, shape }] };
  return measure(new Simulation(alone, sticky, seed).run()).turnMeanMs ?? 0;
}

function pausePerTurnMs({ toolCalls, tools }: RunShape): number {
  const calls = mid(toolCalls);
  const callMs = tools.reduce((sum, { share, durationMs }) => sum + share * mid(durationMs), 0);
  return (calls * callMs) / (calls + 1);
}

function longestPauseMs({ tools }: RunShape): number {
  return Math.max(0, ...tools.map(({ durationMs }) => durationMs.highest));
}

function mid({ lowest, highest }: Range): number {
  return (lowest + highest) / 2;
}
