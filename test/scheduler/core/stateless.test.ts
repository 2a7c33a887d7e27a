/** Rule 8: embeddings, reranking, scores and classification keep no run and wait for no generative residency. */
import { describe, expect, it } from 'vitest';
import type { ReplicaConfig } from '../../../contracts/config-file.ts';
import type { ProxyId, TurnId } from '../../../contracts/ids.ts';
import { replica, replicaState, Scenario } from './scenario.ts';

const both = { apis: ['chat', 'embeddings'] };
const vectors = { api: 'embeddings' } as const;

/** A replica whose memory is full of one paused run: any other turn with a context waits. */
function full(policy: Record<string, unknown> = {}, others: readonly ReplicaConfig[] = []): Scenario {
  const scenario = new Scenario([replica('a', { ...both, maxConcurrent: 64 }), ...others], policy);
  scenario.probe('a', { running: 0, waiting: 0, cacheUsage: 0.5, capacityTokens: 1_000 });
  scenario.arrive('seen', { promptTokens: 100 });
  scenario.finish('seen', 'done', 'p', { usage: [100, 10], cachedTokens: 0 });
  scenario.arrive('long', { run: 'paused', promptTokens: 600 });
  scenario.finish('long', 'paused', 'p', { usage: [600, 10], cachedTokens: 0 });
  return scenario;
}

describe.each(['embeddings', 'rerank', 'score', 'classify'] as const)('%s', (api) => {
  it('are of no run and leave nothing behind', () => {
    const scenario = new Scenario([replica('a', { apis: ['chat', api] })]);
    expect(scenario.arrive('t', { api, run: 'known' })).toEqual(['t@a']);
    expect(scenario.run('known')).toBeUndefined();
    expect(replicaState(scenario, 'a').ledger.contexts).toBe(0);
    scenario.finish('t', 'done', 'p', { usage: [50, 0] });
    expect([
      scenario.state.turns.size,
      scenario.state.runs.size,
      replicaState(scenario, 'a').inFlight,
    ]).toEqual([0, 0, 0]);
  });
});

describe('a turn of no run', () => {
  it('is admitted at once where a turn with a context waits for memory', () => {
    const scenario = full();
    expect(scenario.arrive('chat', { promptTokens: 800 })).toEqual([]);
    expect(scenario.arrive('t', { ...vectors, promptTokens: 800 })).toEqual(['t@a']);
    expect(scenario.arrive('batch', { ...vectors, class: 'batch' })).toEqual(['batch@a']);
  });

  it('lets no batch turn in for which there is no memory, though the place would be its share', () => {
    const scenario = full({ batchShare: 1 });
    expect(scenario.arrive('chat', { class: 'batch', promptTokens: 800 })).toEqual([]);
    expect(scenario.arrive('t', vectors)).toEqual(['t@a']);
    expect(replicaState(scenario, 'a').ledger.contexts).toBe(1);
  });

  it('takes no place in memory from a turn with a context', () => {
    const scenario = new Scenario([replica('a', both)]);
    scenario.probe('a', { running: 0, waiting: 0, cacheUsage: 0.5, capacityTokens: 1_000 });
    scenario.arrive('seen', { promptTokens: 100 });
    scenario.finish('seen', 'done', 'p', { usage: [100, 10], cachedTokens: 0 });
    scenario.arrive('t', { ...vectors, promptTokens: 100_000 });
    expect(scenario.arrive('chat', { promptTokens: 400 })).toEqual(['chat@a']);
  });

  it('waits for a place where the pool has a limit, in order', () => {
    const scenario = new Scenario([replica('a', { ...both, maxConcurrent: 2 })]);
    expect(['t1', 't2', 't3', 't4'].map((turn) => scenario.arrive(turn, vectors).length)).toEqual([
      1, 1, 0, 0,
    ]);
    expect(scenario.finish('t1')).toEqual(['t3@a']);
    expect(scenario.finish('t2')).toEqual(['t4@a']);
  });

  it('waits for the queue of its engine', () => {
    const scenario = full();
    scenario.probe('a', { running: 1, waiting: 5, cacheUsage: 0.95, capacityTokens: 1_000 });
    expect(scenario.arrive('t1', vectors)).toEqual(['t1@a']);
    expect(scenario.arrive('t2', vectors)).toEqual([]);
    expect(scenario.probe('a', { running: 1, waiting: 0, capacityTokens: 1_000 })).toEqual(['t2@a']);
  });

  it('leaves the last place to a paused interactive run when it is a batch turn and places are what is counted', () => {
    const scenario = new Scenario([replica('a', { ...both, maxConcurrent: 1 })], {
      admission: 'engine-load',
    });
    scenario.serve('first', { run: 'paused' });
    expect(scenario.arrive('batch', { ...vectors, class: 'batch' })).toEqual([]);
    expect(scenario.arrive('second', { run: 'paused' })).toEqual(['second@a']);
  });

  it('goes to the replica with the fewest turns, whatever contexts rest there', () => {
    const scenario = new Scenario([replica('a', both), replica('b', both)]);
    for (let run = 0; run < 6; run += 1)
      scenario.serve(`chat${run}`, { run: `run${run}`, promptTokens: 5_000 });
    const counts = { a: 0, b: 0 };
    for (let turn = 0; turn < 8; turn += 1) {
      scenario.arrive(`t${turn}`, vectors);
      counts[scenario.replicaOf(`t${turn}`) as 'a' | 'b'] += 1;
    }
    expect(counts).toEqual({ a: 4, b: 4 });
  });

  it('counts turns and not memory, of which it takes none', () => {
    const scenario = full({}, [replica('b', { ...both, models: ['m', 'n'] })]);
    scenario.arrive('busy1', { ...vectors, model: 'n' });
    scenario.arrive('busy2', { ...vectors, model: 'n' });
    // One paused run fills the memory of a; b has two turns in flight and nothing in memory.
    expect(scenario.arrive('t', vectors)).toEqual(['t@a']);
  });

  it('avoids the replica with a longer queue at its engine', () => {
    const scenario = new Scenario([replica('a', both), replica('b', both)]);
    scenario.probe('a', { running: 8, waiting: 4 });
    scenario.probe('b', { running: 1, waiting: 0 });
    expect(scenario.arrive('t', vectors)).toEqual(['t@b']);
  });

  it('is tried elsewhere when it failed', () => {
    const scenario = new Scenario([replica('a', both), replica('b', both)]);
    expect(scenario.arrive('t', vectors)).toEqual(['t@a']);
    scenario.finish('t', 'failed');
    expect(scenario.arrive('t', vectors)).toEqual(['t@b']);
  });

  it('teaches nothing about replies and prompts of runs', () => {
    const scenario = new Scenario([replica('a', both)]);
    const before = { ...scenario.state.expectations.outputTokens };
    scenario.arrive('t', { ...vectors, promptTokens: 1_000 });
    scenario.finish('t', 'done', 'p', { usage: [10, 0] });
    expect(scenario.state.expectations.outputTokens).toEqual(before);
    expect(replicaState(scenario, 'a').promptRatio).toBe(1);
  });
});

describe('limit: latency', () => {
  const first = (scenario: Scenario, turn: string, tookMs: number): void => {
    scenario.nowMs += tookMs;
    scenario.send({ type: 'turnStarted', proxy: 'p' as ProxyId, turn: turn as TurnId });
  };

  it('does not measure generated replies against embeddings', () => {
    const scenario = new Scenario([replica('a', { ...both, engine: 'ollama', limit: 'latency' })]);
    scenario.arrive('t', vectors);
    first(scenario, 't', 5);
    scenario.arrive('chat');
    first(scenario, 'chat', 2_000);
    expect(replicaState(scenario, 'a').latency).toMatchObject({ limit: 4, bestMs: 2_000 });
  });

  it('holds for embeddings where nothing else is served', () => {
    const scenario = new Scenario([
      replica('a', { apis: ['embeddings'], engine: 'ollama', limit: 'latency' }),
    ]);
    for (const turn of ['t1', 't2', 't3', 't4', 't5']) scenario.arrive(turn, vectors);
    expect(replicaState(scenario, 'a').inFlight).toBe(4);
    first(scenario, 't1', 5);
    expect(replicaState(scenario, 'a').latency.bestMs).toBe(5);
  });
});
