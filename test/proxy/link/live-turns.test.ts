import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Caller, ReplicaId, RunId, TurnId } from '../../../contracts/ids.ts';
import type { ProxyMessage, TurnSpec } from '../../../contracts/link-protocol.ts';
import { LiveTurns } from '../../../proxy/link/live-turns.ts';
import type { Decision, Ticket } from '../../../proxy/link/ticket.ts';
import { RunRegistry } from '../../../proxy/link/run-registry.ts';
import { replica } from '../stack.ts';

const engine = replica('engine-0', 'http://127.0.0.1:1');

function spec(turn: string, run = 'run-1'): TurnSpec {
  return {
    turn: turn as TurnId,
    run: run as RunId,
    class: 'interactive',
    caller: 'me' as Caller,
    model: 'm-test',
    api: 'chat',
    promptTokens: 10,
    maxTokens: null,
    prefix: [],
  };
}

class Bench {
  nowMs = 1_000;
  readonly sent: ProxyMessage[] = [];
  readonly runs = new RunRegistry({ maxRuns: 100, forgetAfterMs: 60_000 });
  readonly turns: LiveTurns;

  constructor(maxHeld = 100) {
    this.turns = new LiveTurns({
      runs: this.runs,
      send: (message) => this.sent.push(message),
      sendSoon: (message) => this.sent.push(message),
      nowMs: () => this.nowMs,
      maxHeld,
    });
  }

  arrive(turn: string, run?: string): Ticket {
    return this.turns.arrive(spec(turn, run), 0);
  }

  admit(turn: string): void {
    this.turns.admit(turn as TurnId, engine.id, engine);
  }

  types(): string[] {
    return this.sent.map(({ type }) => type);
  }
}

describe('a turn at the link', () => {
  it('arrives, starts and finishes, each told once', async () => {
    const bench = new Bench();
    const ticket = bench.arrive('t');
    expect(bench.turns.heldCount).toBe(1);
    bench.admit('t');
    expect(await ticket.decision).toEqual({ kind: 'admitted', replica: engine });
    ticket.started();
    ticket.started();
    expect(bench.turns.inFlightCount).toBe(1);
    ticket.finished({ outcome: 'paused', toolNames: ['f'], usage: { promptTokens: 1, completionTokens: 2 } });
    expect(bench.types()).toEqual(['turnArrived', 'turnStarted', 'turnFinished']);
    expect(bench.turns.inFlightCount).toBe(0);
  });

  it('ends once, whoever ends it and however often', async () => {
    const bench = new Bench();
    const ticket = bench.arrive('t');
    bench.admit('t');
    await ticket.decision;
    ticket.finished({ outcome: 'done' });
    ticket.finished({ outcome: 'failed' });
    ticket.abandon();
    bench.turns.abort('t' as TurnId, 'run_ended');
    expect(bench.types()).toEqual(['turnArrived', 'turnFinished']);
    expect([bench.turns.heldCount, bench.turns.inFlightCount]).toEqual([0, 0]);
  });

  it('that its client left while held is abandoned', async () => {
    const bench = new Bench();
    const ticket = bench.arrive('t');
    ticket.abandon();
    expect(await ticket.decision).toEqual({ kind: 'abandoned' });
    expect(bench.types()).toEqual(['turnArrived', 'turnAbandoned']);
  });

  it('that is admitted after its client left gives the place back', () => {
    const bench = new Bench();
    bench.arrive('t').abandon();
    bench.admit('t');
    expect(bench.sent.at(-1)).toEqual({ type: 'turnFinished', turn: 't', outcome: 'failed' });
  });

  it('that is admitted to a replica outside the pool is refused and gives the place back', async () => {
    const bench = new Bench();
    const ticket = bench.arrive('t');
    bench.turns.admit('t' as TurnId, 'gone' as ReplicaId, null);
    expect(await ticket.decision).toEqual({ kind: 'refused', code: 'engine_unreachable' });
    expect(bench.types()).toEqual(['turnArrived', 'turnFinished']);
    expect(bench.turns.heldCount).toBe(0);
  });

  it('comes again under its own id, and the ticket of its first attempt has no say in the second', async () => {
    const bench = new Bench();
    const first = bench.arrive('t');
    bench.admit('t');
    await first.decision;
    first.finished({ outcome: 'failed' });
    bench.nowMs += 500;
    const second = bench.turns.arrive(spec('t'), 500);
    bench.admit('t');
    await second.decision;
    first.finished({ outcome: 'done' });
    first.abandon();
    expect(bench.turns.inFlightCount).toBe(1);
    second.finished({ outcome: 'done' });
    expect(bench.sent.filter(({ type }) => type === 'turnArrived')).toMatchObject([
      { heldForMs: 0 },
      { heldForMs: 500 },
    ]);
    expect(bench.turns.inFlightCount).toBe(0);
  });

  it('is refused without a word to the scheduler when too many are held here', async () => {
    const bench = new Bench(1);
    bench.arrive('a');
    expect(await bench.arrive('b').decision).toEqual({ kind: 'refused', code: 'overloaded' });
    expect(bench.types()).toEqual(['turnArrived']);
  });
});

describe('the end of a run', () => {
  it('refuses its held turn, aborts the one in flight, and leaves other runs alone', async () => {
    const bench = new Bench();
    const held = bench.arrive('held', 'a');
    const flying = bench.arrive('flying', 'a');
    const other = bench.arrive('other', 'b');
    bench.admit('flying');
    const reasons: string[] = [];
    flying.onAbort((reason) => reasons.push(reason));
    other.onAbort((reason) => reasons.push(`other ${reason}`));
    bench.turns.endRun('a' as RunId);
    bench.turns.endRun('a' as RunId);
    expect(await held.decision).toEqual({ kind: 'refused', code: 'run_ended' });
    expect(reasons).toEqual(['run_ended']);
    expect(bench.types()).toEqual(['turnArrived', 'turnArrived', 'turnArrived', 'turnAbandoned']);
  });

  it('reaches a turn whose relay is not set up yet', () => {
    const bench = new Bench();
    const ticket = bench.arrive('t');
    bench.admit('t');
    bench.turns.abort('t' as TurnId, 'run_ended');
    let reason: string | null = null;
    ticket.onAbort((given) => {
      reason = given;
    });
    expect(reason).toBe('run_ended');
  });
});

describe('a shutdown', () => {
  it('refuses what is held and what arrives, and cuts what is in flight when told to', async () => {
    const bench = new Bench();
    const held = bench.arrive('held');
    const flying = bench.arrive('flying');
    bench.admit('flying');
    let cut: string | null = null;
    flying.onAbort((reason) => {
      cut = reason;
      flying.finished({ outcome: 'failed' });
    });
    bench.turns.drain();
    expect(await held.decision).toEqual({ kind: 'refused', code: 'draining' });
    expect(await bench.arrive('late').decision).toEqual({ kind: 'refused', code: 'draining' });
    expect(cut).toBeNull();
    expect(await bench.turns.whenNoneInFlight(0)).toBe(false);
    bench.turns.cut();
    expect(cut).toBe('draining');
    expect(await bench.turns.whenNoneInFlight(0)).toBe(true);
  });
});

describe('a resync', () => {
  it('tells held turns with their age, turns in flight with their replica, and runs between turns', async () => {
    const bench = new Bench();
    const rested = bench.arrive('rested', 'resting');
    bench.admit('rested');
    await rested.decision;
    rested.finished({ outcome: 'paused', usage: { promptTokens: 30, completionTokens: 4 } });
    bench.arrive('held', 'waiting');
    const flying = bench.arrive('flying', 'flying-run');
    bench.nowMs += 100;
    bench.admit('flying');
    flying.started();
    bench.nowMs += 50;
    expect(bench.turns.resync()).toEqual({
      held: [{ spec: spec('held', 'waiting'), heldForMs: 150 }],
      inFlight: [
        { spec: spec('flying', 'flying-run'), replica: engine.id, started: true, admittedForMs: 50 },
      ],
    });
    expect(bench.runs.resync(bench.nowMs)).toEqual([
      {
        run: 'resting',
        class: 'interactive',
        caller: 'me',
        replica: engine.id,
        phase: 'paused',
        footprintTokens: 34,
        idleForMs: 150,
      },
    ]);
  });

  it('tells of progress only what has progressed since', () => {
    const bench = new Bench();
    const a = bench.arrive('a');
    bench.arrive('b');
    bench.admit('a');
    a.progressed();
    expect(bench.turns.takeProgressed()).toEqual(['a']);
    expect(bench.turns.takeProgressed()).toEqual([]);
  });
});

it('after any sequence of events every turn is counted exactly once, in its phase or gone', async () => {
  const action = fc.constantFrom('arrive', 'admit', 'reject', 'abandon', 'finish', 'abort', 'endRun');
  const turnName = fc.constantFrom('t0', 't1', 't2', 't3');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(action, turnName), { maxLength: 60 }), async (steps) => {
      const bench = new Bench();
      const tickets = new Map<string, Ticket>();
      const decisions = new Map<Ticket, Decision[]>();
      const phase = new Map<string, 'held' | 'flying'>();
      for (const [step, name] of steps) {
        const ticket = tickets.get(name);
        if (step === 'arrive' && phase.get(name) === undefined) {
          const arrived = bench.arrive(name, `run-${name}`);
          tickets.set(name, arrived);
          decisions.set(arrived, []);
          void arrived.decision.then((decision) => decisions.get(arrived)?.push(decision));
          phase.set(name, 'held');
        } else if (step === 'admit' && phase.get(name) === 'held') {
          bench.admit(name);
          phase.set(name, 'flying');
        } else if (step === 'reject') {
          bench.turns.reject(name as TurnId, 'unknown_model');
          if (phase.get(name) === 'held') phase.delete(name);
        } else if (step === 'abandon') {
          ticket?.abandon();
          phase.delete(name);
        } else if (step === 'finish') {
          ticket?.finished({ outcome: 'done' });
          if (phase.get(name) === 'flying') phase.delete(name);
        } else if (step === 'abort' || step === 'endRun') {
          if (step === 'abort') bench.turns.abort(name as TurnId, 'run_ended');
          else bench.turns.endRun(`run-${name}` as RunId);
          if (phase.get(name) === 'held') phase.delete(name);
        }
        const phases = [...phase.values()];
        expect(bench.turns.heldCount).toBe(phases.filter((value) => value === 'held').length);
        expect(bench.turns.inFlightCount).toBe(phases.filter((value) => value === 'flying').length);
      }
      await Promise.resolve();
      for (const made of decisions.values()) expect(made.length).toBeLessThanOrEqual(1);
      const finished = bench.sent.filter(
        ({ type }) => type === 'turnFinished' || type === 'turnAbandoned',
      ).length;
      expect(finished).toBeLessThanOrEqual(bench.sent.filter(({ type }) => type === 'turnArrived').length);
    }),
    { numRuns: 200 },
  );
});

describe('a ticket that outlives its turn', () => {
  const collect = (): void => {
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
  };

  /** Its own function, so that no variable of the test holds the request. */
  function turnWithRequest(bench: Bench, turn: string): { ticket: Ticket; request: WeakRef<object> } {
    const request = { body: new Uint8Array(1_000) };
    const ticket = bench.arrive(turn);
    ticket.onAbort(() => request.body.fill(0));
    return { ticket, request: new WeakRef(request) };
  }

  it.each<[string, (bench: Bench, ticket: Ticket) => void]>([
    ['that ended', (bench, ticket) => (bench.admit('t'), ticket.finished({ outcome: 'done' }))],
    ['whose client left', (_bench, ticket) => ticket.abandon()],
    ['that was refused', (bench) => bench.turns.reject('t' as TurnId, 'overloaded')],
  ])('holds nothing of the request of one %s', async (_how, end) => {
    const bench = new Bench();
    const { ticket, request } = turnWithRequest(bench, 't');
    // A weak reference that was just made holds its target until the event loop comes round.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(request.deref()).toBeDefined();
    await new Promise((resolve) => setImmediate(resolve));
    end(bench, ticket);
    collect();
    expect(request.deref()).toBeUndefined();
    expect(ticket.turn).toBe('t');
  });
});
