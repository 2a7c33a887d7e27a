/**
 * llm-d's flow control with its program-aware strategies, after what its router publishes (llm-d/llm-d-router,
 * READMEs and strategies under `pkg/epp/framework/plugins/flowcontrol`), with its defaults.
 *
 * Gate: saturation of a replica is the larger of (waiting + turns sent that it does not report yet) / 5 and
 * KV usage / 0.8; turns go while the mean over the pool is below 1. Order: the higher priority band first
 * (here: interactive), within it one flow a session.
 * - `turn-priority`: the highest of turn number + 0.05 × seconds waited; a session silent for 120 s counts from
 *   one again.
 * - `las`, least attained service: 0.8 × inverted service + 0.2 × wait, each scaled to the range of those that
 *   wait; service is prompt + 2 × output tokens of a session, with a half-life of 60 s.
 * Placement: replicas over the same limits are left out unless all are; then prefix (weight 3), queue and KV
 * usage (1 each), as in its sample configuration.
 *
 * Assumed: metrics every 50 ms; the prefix is matched in blocks of 1 KiB of text; requests in its queue have no
 * time to live, since no client here would retry.
 */
import type { Arm, ArmKind, ArmOptions } from './arm.ts';
import { highest, holdTurns, type HeldTurn, type ReplicaView } from './held-queue.ts';
import { PrefixMap } from './prefix-map.ts';

const probeIntervalMs = 50;
const queueThreshold = 5;
const cacheThreshold = 0.8;
const prefixBlocks = 31_250;

interface Strategy {
  pick(held: readonly HeldTurn[], atMs: number): HeldTurn | undefined;
  finished(run: string, cost: number, atMs: number): void;
  forget(run: string): void;
}

const inactiveMs = 120_000;
const turnsPerSecondWaited = 0.05;

function turnPriority(): Strategy {
  const lastMs = new Map<string, number>();
  return {
    pick(held, atMs) {
      return highest(held, (turn) => {
        const silentMs = atMs - (lastMs.get(turn.run) ?? atMs);
        const depth = silentMs > inactiveMs ? 1 : turn.number + 1;
        return depth + (turnsPerSecondWaited * (atMs - turn.heldSinceMs)) / 1_000;
      });
    },
    finished: (run, _cost, atMs) => void lastMs.set(run, atMs),
    forget: (run) => void lastMs.delete(run),
  };
}

const halfLifeMs = 60_000;
const serviceWeight = 0.8;
const waitWeight = 0.2;

function leastAttainedService(): Strategy {
  const attained = new Map<string, { readonly service: number; readonly atMs: number }>();
  const serviceOf = (run: string, atMs: number): number => {
    const known = attained.get(run);
    return known === undefined ? 0 : known.service * 0.5 ** ((atMs - known.atMs) / halfLifeMs);
  };
  return {
    pick(held, atMs) {
      const services = held.map(({ run }) => serviceOf(run, atMs));
      const waits = held.map(({ heldSinceMs }) => atMs - heldSinceMs);
      const places = held.map((_, place) => place);
      const best = highest(places, (place) => {
        const served = scaled(services[place] ?? 0, services);
        return serviceWeight * (1 - served) + waitWeight * scaled(waits[place] ?? 0, waits);
      });
      return best === undefined ? undefined : held[best];
    },
    finished: (run, cost, atMs) => void attained.set(run, { service: serviceOf(run, atMs) + cost, atMs }),
    forget: (run) => void attained.delete(run),
  };
}

function scaled(value: number, all: readonly number[]): number {
  let lowest = Number.POSITIVE_INFINITY;
  let highestValue = Number.NEGATIVE_INFINITY;
  for (const one of all) {
    lowest = Math.min(lowest, one);
    highestValue = Math.max(highestValue, one);
  }
  return highestValue === lowest ? 0.5 : (value - lowest) / (highestValue - lowest);
}

function saturation({ probe, inFlight }: ReplicaView): number {
  if (probe === null) return 1;
  const unseen = Math.max(0, inFlight - probe.waiting - probe.running);
  return Math.max((probe.waiting + unseen) / queueThreshold, probe.cacheUsage / cacheThreshold);
}

function createFlowControl({ replicas }: ArmOptions, strategy: Strategy): Arm {
  const prefixes = new PrefixMap(replicas, prefixBlocks);
  const all = Array.from({ length: replicas }, (_, replica) => replica);
  return holdTurns(replicas, {
    probeIntervalMs,
    open: (views) => views.reduce((sum, view) => sum + saturation(view), 0) / views.length < 1,
    next(held, atMs) {
      const interactive = held.filter((turn) => turn.class === 'interactive');
      return strategy.pick(interactive.length > 0 ? interactive : held, atMs);
    },
    place(turn, views) {
      const within = all.filter((replica) => isWithinLimits(views[replica]));
      const candidates = within.length > 0 ? within : all;
      const queues = candidates.map((replica) => queueOf(views[replica]));
      const replica = highest(candidates, (candidate) => {
        const queue = 1 - scaledToOne(queueOf(views[candidate]), queues);
        const memory = 1 - (views[candidate]?.probe?.cacheUsage ?? 1);
        return 3 * prefixes.share(turn.prefix, candidate) + queue + memory;
      });
      prefixes.remember(turn.prefix, replica ?? 0);
      return replica ?? 0;
    },
    finished: (turn, { promptTokens, outputTokens }, atMs) =>
      strategy.finished(turn.run, promptTokens + 2 * outputTokens, atMs),
    runEnded: (run) => strategy.forget(run),
  });
}

function isWithinLimits(view: ReplicaView | undefined): boolean {
  const probe = view?.probe;
  if (probe === undefined || probe === null) return false;
  return probe.waiting <= queueThreshold && probe.cacheUsage <= cacheThreshold;
}

function queueOf(view: ReplicaView | undefined): number {
  return view?.probe?.waiting ?? 0;
}

function scaledToOne(value: number, all: readonly number[]): number {
  const most = Math.max(...all);
  const fewest = Math.min(...all);
  return most === fewest ? 0 : (value - fewest) / (most - fewest);
}

export const llmDTurnPriority: ArmKind = {
  name: 'llm-d-turn-priority',
  about: "deeper sessions first (llm-d's turn priority, re-implemented)",
  create: (options) => createFlowControl(options, turnPriority()),
};

export const llmDAttainedService: ArmKind = {
  name: 'llm-d-attained-service',
  about: "sessions served least first (llm-d's LAS, re-implemented)",
  create: (options) => createFlowControl(options, leastAttainedService()),
};
