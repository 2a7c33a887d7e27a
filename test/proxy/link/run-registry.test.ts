import { describe, expect, it } from 'vitest';
import type { Caller, ReplicaId, RunId } from '../../../contracts/ids.ts';
import type { TurnOutcome } from '../../../contracts/link-protocol.ts';
import { RunRegistry } from '../../../proxy/link/run-registry.ts';

const engine = 'engine-0' as ReplicaId;

function turnOf(run: string): { run: RunId; caller: Caller; class: 'interactive' } {
  return { run: run as RunId, caller: 'me' as Caller, class: 'interactive' };
}

function serve(registry: RunRegistry, run: string, nowMs: number, outcome: TurnOutcome = 'done'): void {
  registry.turnHeld(turnOf(run), nowMs);
  registry.turnAdmitted(turnOf(run), engine, 5, nowMs);
  registry.turnFinished(
    run as RunId,
    { outcome, usage: { promptTokens: 10, completionTokens: 2 }, cachedTokens: 4 },
    nowMs,
  );
}

describe('the live runs of a proxy', () => {
  it('are held, generating, paused and idle', () => {
    const registry = new RunRegistry({ maxRuns: 10, forgetAfterMs: 100 });
    const phase = (): string | undefined => registry.report('a' as RunId, 0)?.phase;
    registry.turnHeld(turnOf('a'), 0);
    expect(phase()).toBe('held');
    registry.turnAdmitted(turnOf('a'), engine, 7, 0);
    expect(phase()).toBe('generating');
    registry.turnFinished('a' as RunId, { outcome: 'paused', usage: null, cachedTokens: null }, 0);
    expect(phase()).toBe('paused');
    registry.turnHeld(turnOf('a'), 0);
    registry.turnDropped('a' as RunId);
    expect(phase()).toBe('paused');
    serve(registry, 'a', 0, 'failed');
    expect(phase()).toBe('idle');
  });

  it('add up turns, tokens and held time', () => {
    const registry = new RunRegistry({ maxRuns: 10, forgetAfterMs: 100 });
    serve(registry, 'a', 0, 'paused');
    serve(registry, 'a', 20);
    expect(registry.report('a' as RunId, 50)).toEqual({
      id: 'a',
      object: 'run',
      phase: 'idle',
      replica: engine,
      class: 'interactive',
      caller: 'me',
      turns: 2,
      tokens: { prompt: 20, cached: 8, completion: 4 },
      heldMs: 10,
      idleMs: 30,
    });
    expect(registry.report('b' as RunId, 0)).toBeNull();
  });

  it('are bound to their replica while paused or generating', () => {
    const registry = new RunRegistry({ maxRuns: 10, forgetAfterMs: 100 });
    serve(registry, 'a', 0, 'done');
    expect(registry.pinnedReplica('a' as RunId)).toBeNull();
    serve(registry, 'a', 0, 'paused');
    expect(registry.pinnedReplica('a' as RunId)).toBe(engine);
    serve(registry, 'a', 0, 'done');
    registry.turnHeld(turnOf('a'), 0);
    registry.turnAdmitted(turnOf('a'), engine, 0, 0);
    expect(registry.pinnedReplica('a' as RunId)).toBe(engine);
  });

  it('are forgotten when idle too long, never with a turn', () => {
    const registry = new RunRegistry({ maxRuns: 10, forgetAfterMs: 100 });
    serve(registry, 'old', 0);
    registry.turnHeld(turnOf('held'), 0);
    serve(registry, 'young', 50);
    registry.sweep(100);
    expect(['old', 'held', 'young'].map((run) => registry.report(run as RunId, 100) !== null)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('are bounded: the one idle longest makes room, one with a turn does not', () => {
    const registry = new RunRegistry({ maxRuns: 2, forgetAfterMs: 100 });
    registry.turnHeld(turnOf('held'), 0);
    serve(registry, 'a', 1);
    serve(registry, 'b', 2);
    expect(registry.size).toBe(2);
    expect(registry.report('a' as RunId, 2)).toBeNull();
    expect(registry.report('held' as RunId, 2)).not.toBeNull();
  });
});
